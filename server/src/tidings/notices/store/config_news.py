"""Word that an inbox was changed, to every process that keeps what it is. May get lost: then it is known in seconds."""

import logging
from collections.abc import Callable

import msgspec

from tidings.kernel.decoding import wrap_decoder
from tidings.kernel.ids import TenantId
from tidings.notices.model import InboxId
from tidings.platform.redis import events
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import RedisError

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode
_decode_invalidation = wrap_decoder(
    msgspec.json.Decoder(tuple[TenantId, InboxId]).decode, msgspec.DecodeError
)


class RedisConfigInvalidation:
    """One channel for all: inboxes are changed by hand, a few times a day."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._channel = redis.keys.key("_system", "inboxes", "changed")

    async def changed(self, tenant: TenantId, inbox: InboxId, /) -> None:
        """Never raises: the change itself is done."""
        try:
            await self._redis.publish(self._channel, _encode((tenant, inbox)))
        except RedisError as error:
            _log.warning("an inbox was changed, which others learn a few seconds later: %s", error)

    def listen(self, forget: Callable[[TenantId, InboxId], None]) -> None:
        """As long as the client lives."""

        def hear(event: events.ChannelEvent) -> None:
            if isinstance(event, events.ChannelMessage):
                try:
                    tenant, inbox = _decode_invalidation(event.payload)
                except msgspec.DecodeError:
                    return
                forget(tenant, inbox)

        self._redis.subscribe_soon(self._channel, hear)
