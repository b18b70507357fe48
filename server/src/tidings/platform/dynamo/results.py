"""What a caller gets back from a write."""

from dataclasses import dataclass

from tidings.platform.dynamo.values import Item


@dataclass(frozen=True, slots=True)
class WriteResult:
    """`maybe_repeated`: an earlier try of this call went unanswered and may have been applied before this one.

    The `attributes` that the write returned may then be those that it had itself written.
    """

    attributes: Item | None = None
    maybe_repeated: bool = False


PLAINLY_WRITTEN = WriteResult()
