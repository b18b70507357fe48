"""Offline checks in Kafka: published without waiting, and consumed after their delay."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import batched
from typing import final

import msgspec

from tidings.delivery.model import OfflineCheck
from tidings.kernel.clock import Clock
from tidings.kernel.errors import UnavailableError, wrap_decoder
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Record
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.model import KeyPartError
from tidings.schema.topics.model import OFFLINE_CHECKS, OFFLINE_CHECKS_LATE

DELAYS_MS = {OFFLINE_CHECKS.name: 1_000, OFFLINE_CHECKS_LATE.name: 30_000}
"""How long after its publication a check of each topic is processed.

The first is longer than a gateway needs to write the acks of a device that has disconnected.
"""

MAX_USERS = 100
"""Users of one check. The members of a group that is delivered by routes fit into one."""

_encode = msgspec.json.Encoder().encode
_decode = wrap_decoder(msgspec.json.Decoder(OfflineCheck).decode, msgspec.DecodeError)


@final
class KafkaOfflineChecks:
    """`failed`: checks that Kafka did not accept. They are lost: the device still reads the messages when it connects."""

    def __init__(self, publisher: KafkaPublisher, clock: Clock) -> None:
        self._publisher = publisher
        self._clock = clock
        self.published = 0
        self.failed = 0

    def check(
        self,
        chat: ChatKey,
        users: Sequence[UserId],
        first: int,
        last: int,
        *,
        is_reconnecting: bool = False,
        is_mention: bool = False,
    ) -> None:
        at_ms = self._clock.now_ms()
        for some in batched(users, MAX_USERS):
            check = OfflineCheck(
                tenant=chat.tenant,
                users=some,
                at_ms=at_ms,
                chat=chat.chat,
                first=first,
                last=last,
                is_mention=is_mention,
            )
            _ = self._send(OFFLINE_CHECKS_LATE.name if is_reconnecting else OFFLINE_CHECKS.name, check)

    async def check_users(self, users: Iterable[tuple[TenantId, UserId]], since_ms: int) -> None:
        """Check the messages since this time in all chats of these users, whose gateway has vanished.

        Returns after Kafka has stored all checks. Raises `UnavailableError` if it did not: call it again.
        """
        at_ms = self._clock.now_ms()
        sent = [
            self._send(
                OFFLINE_CHECKS.name,
                OfflineCheck(tenant=tenant, users=(user,), at_ms=at_ms, since_ms=since_ms),
            )
            for tenant, user in users
        ]
        outcomes = await asyncio.gather(*sent, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise UnavailableError(f"Kafka: {outcome}") from outcome

    def check_late(self, check: OfflineCheck) -> None:
        _ = self._send(OFFLINE_CHECKS_LATE.name, msgspec.structs.replace(check, at_ms=self._clock.now_ms()))

    def _send(self, topic: str, check: OfflineCheck) -> "asyncio.Future[RecordMetadata]":
        if check.chat is None:
            key = user_key(check.tenant, check.users[0])
        else:
            key = chat_key(ChatKey(check.tenant, check.chat))
        sending = self._publisher.send(topic, key.encode(), _encode(check))
        sending.add_done_callback(partial(_count, self))
        return sending


def _count(checks: KafkaOfflineChecks, sending: "asyncio.Future[RecordMetadata]") -> None:
    if sending.cancelled() or sending.exception() is not None:
        checks.failed += 1
    else:
        checks.published += 1


def decode_check(record: Record) -> OfflineCheck:
    """Decode a record. Raises `UndecodableError`."""
    try:
        check = _decode(record.value or b"")
        for user in check.users:
            user_key(check.tenant, user)
    except (msgspec.DecodeError, KeyPartError) as error:
        raise UndecodableError(str(error)) from error
    return check
