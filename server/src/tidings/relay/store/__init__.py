"""Adapters of the relay: stream, leases, publisher and the reader of the repair job."""

from tidings.relay.store.leases import DynamoLeaseStore
from tidings.relay.store.repair_reader import DynamoRepairReader
from tidings.relay.store.stream import DynamoChangeStream

__all__ = ["DynamoChangeStream", "DynamoLeaseStore", "DynamoRepairReader"]
