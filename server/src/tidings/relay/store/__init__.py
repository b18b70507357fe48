"""The relay's engines: the stream, the leases, and the books of repair."""

from tidings.relay.store.books import DynamoRepairReader
from tidings.relay.store.feed import DynamoChangeStream
from tidings.relay.store.leases import DynamoLeaseStore

__all__ = ["DynamoChangeStream", "DynamoLeaseStore", "DynamoRepairReader"]
