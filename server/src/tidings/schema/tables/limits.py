"""The bounds that keep every item small: how long a key part may be, how much a value may hold.

Subjects check their input against these; the tests build the largest items from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# A key part is one segment between two `#`. Ids are ULIDs (26) where Tidings makes them; the room above that
# is for ids that an app brings itself.
PART_BYTES = {
    "tenant": 32,
    "chat": 64,
    "user": 64,
    "sender": 64,
    "other": 64,
    "client_key": 64,
    "session": 26,
    "phone": 16,
    "inbox": 32,
    "segment": 64,
    "notification": 26,
    "message": 80,
    "host_key": 128,
    "origin": 1,
    "job": 26,
    "key": 26,
    "lease": 128,
    "stream_shard": 96,
}
PART_DIGITS = {
    "at_ms": 13,
    "sequence": 12,
    "version": 4,
    "bucket": 3,
    "shard": 2,
    "chunk": 6,
}

SEQUENCE_DIGITS = 15
TIME_BYTES = 24  # 2026-11-15T02:11:21.957Z
SECONDS_DIGITS = 10
MS_DIGITS = 13

CONTENT_BYTES = 4096
SEAL_BYTES = 33  # AES-256-GCM: 1 of form, 4 of key version, 12 of nonce, 16 of tag
PREVIEW_BYTES = 180  # so that the largest chat-list row is still one write unit

INTERVALS = 8  # how often one may leave a chat and come back
MAX_JOINS_PER_ENTRY = (
    97  # a transaction has 100 items: the entry, its key, at creation the chat, and these rows
)
EMOJI = 20
EMOJI_BYTES = 32
REACTORS = 20  # in all of a message, not for each emoji
REACTION_DIGITS = 37  # 120 bits, within the 38 digits of a DynamoDB number
SOME_MEMBERS = 7  # of a chat, for its line in a chat list: five, and room for a race
LIVE_BROADCASTS = 1000
CATEGORIES = 50
CHUNK_USERS = 100
CHUNK_PARTITIONS = 96  # of the topic `notifications` at its largest


# as in `platform.dynamo.sizes`, which a model may not import
COLLECTION_BYTES = 3
ELEMENT_BYTES = 1


@dataclass(frozen=True, slots=True)
class TextLimit:
    bytes_: int

    @property
    def max_bytes(self) -> int:
        return self.bytes_


@dataclass(frozen=True, slots=True)
class BlobLimit:
    bytes_: int

    @property
    def max_bytes(self) -> int:
        return self.bytes_


@dataclass(frozen=True, slots=True)
class NumberLimit:
    """A whole number, never negative: sequences, counts, times."""

    digits: int

    @property
    def max_bytes(self) -> int:
        return -(-self.digits // 2) + 1


@dataclass(frozen=True, slots=True)
class FlagLimit:
    @property
    def max_bytes(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class SetLimit:
    """A set of texts or of numbers."""

    count: int
    of: TextLimit | NumberLimit

    @property
    def max_bytes(self) -> int:
        return self.count * self.of.max_bytes


@dataclass(frozen=True, slots=True)
class ListLimit:
    count: int
    of: "AttributeLimit"

    @property
    def max_bytes(self) -> int:
        return COLLECTION_BYTES + self.count * (ELEMENT_BYTES + self.of.max_bytes)


@dataclass(frozen=True, slots=True)
class MapLimit:
    """A map with names that data brings: at most `count`, each of at most `name_bytes`."""

    count: int
    name_bytes: int
    of: "AttributeLimit"

    @property
    def max_bytes(self) -> int:
        return COLLECTION_BYTES + self.count * (ELEMENT_BYTES + self.name_bytes + self.of.max_bytes)


type AttributeLimit = TextLimit | BlobLimit | NumberLimit | FlagLimit | SetLimit | ListLimit | MapLimit
type AttributeLimits = Mapping[str, AttributeLimit]

SEQUENCE = NumberLimit(SEQUENCE_DIGITS)
TIME = TextLimit(TIME_BYTES)
SECONDS = NumberLimit(SECONDS_DIGITS)
MS = NumberLimit(MS_DIGITS)


def max_item_bytes(attributes: AttributeLimits) -> int:
    return sum(len(name.encode()) + bound.max_bytes for name, bound in attributes.items())
