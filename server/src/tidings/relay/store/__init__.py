"""The relay's engines: the stream, the leases, and the books of repair."""

from tidings.relay.store.leases import DynamoLeaseStore
from tidings.relay.store.repair_reader import DynamoRepairReader
from tidings.relay.store.stream import DynamoChangeStream

__all__ = ["DynamoChangeStream", "DynamoLeaseStore", "DynamoRepairReader"]
