"""The few words of a message that stand in a chat list, sealed for the message's own place."""

from collections.abc import Collection, Mapping

from tidings.delivery.model import LastMessageRef
from tidings.delivery.ports import DeliveryKeys, OpeningKeys, PreviewText, SealingKeys
from tidings.delivery.rules import PreviewCandidate
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey
from tidings.tables.limits import PREVIEW_BYTES


class Previews:
    """`words` says what a body says; only the messages' own code knows how it is spelled."""

    def __init__(self, keys: DeliveryKeys, words: PreviewText) -> None:
        self._keys = keys
        self._words = words

    async def of(
        self, chat: ChatKey, wanted: Collection[PreviewCandidate]
    ) -> Mapping[PreviewCandidate, LastMessageRef]:
        """Opened and sealed once for each message, whatever the number of rows that show it."""
        contents = [c.said.content for c in wanted if c.said.content is not None]
        if not contents:
            return {candidate: with_preview(candidate, None) for candidate in wanted}
        opening = await self._keys.to_read(chat.tenant, contents)
        sealing = await self._keys.of(chat.tenant)
        return {c: with_preview(c, self._preview(chat, c, opening, sealing)) for c in wanted}

    def _preview(
        self, chat: ChatKey, candidate: PreviewCandidate, opening: OpeningKeys, sealing: SealingKeys
    ) -> bytes | None:
        said = candidate.said
        if said.content is None:
            return None
        try:
            text = self._words(opening.unseal(chat, said.sequence, said.content))
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            # one message that somebody altered must not hold up the rows of its chat
            text = ""
        return sealing.seal_preview(chat, said.sequence, truncate(text))


def with_preview(candidate: PreviewCandidate, preview: bytes | None) -> LastMessageRef:
    """What expires shows no words, so that none outlive it; neither does what was redacted."""
    said = candidate.said
    is_redacted = said.redacted_at_ms is not None
    until_ms = None if is_redacted else said.visible_until_ms
    return LastMessageRef(
        sequence=candidate.sequence,
        version=candidate.version,
        at_ms=said.created_at_ms,
        sender=said.sender,
        preview=None if is_redacted or until_ms is not None else preview,
        expires_at_s=None if until_ms is None else -(-until_ms // 1000),
    )


def truncate(text: str) -> bytes:
    """Never in the middle of a character."""
    return text.encode()[:PREVIEW_BYTES].decode(errors="ignore").encode()
