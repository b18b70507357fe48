"""The relay's engines: the stream, the leases, and the books of repair."""

from tidings.relay.store.books import DynamoBooks
from tidings.relay.store.feed import StreamFeed
from tidings.relay.store.leases import DynamoLeases

__all__ = ["DynamoBooks", "DynamoLeases", "StreamFeed"]
