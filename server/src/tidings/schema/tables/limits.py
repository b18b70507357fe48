"""Limits of key parts and values, so that every item stays small.

Subjects validate their input with these limits; tests build the largest items from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# A key part is the text between two `#`. Ids that Tidings creates are ULIDs (26 bytes); larger limits are for ids
# that an app chooses.
PART_BYTES = {
    "tenant": 32,
    "chat": 64,
    "user": 64,
    "sender": 64,
    "other": 64,
    "client_key": 64,
    "session": 26,
    "phone": 32,  # a keyed hash of the number, in base32
    "inbox": 32,
    "segment": 64,
    "digest": 64,
    "notification": 26,
    "message": 80,
    "host_key": 128,
    "origin": 1,
    "job": 26,
    "key": 26,
    "lease": 128,
    "stream_shard": 96,
    "month": 7,  # 2026-11
    "topic": 22,  # the id of a Kafka topic, in base64
    "endpoint": 26,
    "event": 36,  # `evt_` and 32 hexadecimal digits
    "device": 64,
    "provider": 8,
    "upload": 26,
    "review": 82,  # `m.` and a message id, or `u.` and a user id
    "queue": 8,
}
PART_DIGITS = {
    "at_ms": 13,
    "sequence": 12,
    "version": 4,
    "bucket": 3,
    "category": 3,
    "shard": 2,
    "chunk": 6,
    "partition": 5,
    "offset": 15,
}

SEQUENCE_DIGITS = 15
TIME_BYTES = 24  # 2026-11-15T02:11:21.957Z
SECONDS_DIGITS = 10
MS_DIGITS = 13

CONTENT_BYTES = 4096
SEAL_BYTES = 33  # AES-256-GCM: 1 format, 4 key version, 12 nonce, 16 tag
MAX_USER_KEYS = 64  # versions of a user's content key
PREVIEW_BYTES = 180  # so that the largest chat-list row is still one write unit

REASON_BYTES = 240  # the reason of a mute or ban: 60 characters of UTF-8
INTERVALS = 8  # how often a user can leave a chat and rejoin
MAX_JOINS_PER_ENTRY = (
    97  # a transaction has 100 items: the entry, its key, at creation the chat, and these rows
)
MAX_ATTACHMENTS = 10  # of a message
EMOJI = 20
EMOJI_BYTES = 32
REACTORS = 20  # in total for a message, not for each emoji
REACTION_DIGITS = 37  # 120 bits, within the 38 digits of a DynamoDB number
SOME_MEMBERS = 6  # shown in a chat list: five, and one for a concurrent change
LIVE_BROADCASTS = 1000
CATEGORIES = 50
CHUNK_USERS = 100
AUDIT_VALUE_BYTES = (
    3072  # the state before or after an administrative action; a larger one is stored as its hash
)
CHUNK_PARTITIONS = 96  # of the topic `notifications` in the largest installation


# The same values as in `platform.dynamo.sizes`, which a model must not import.
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
    """A non-negative integer: a sequence, count or time."""

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
    """A map with at most `count` names from data, each of at most `name_bytes`."""

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
