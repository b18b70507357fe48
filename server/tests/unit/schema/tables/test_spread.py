"""partition_key_distributed, for keys that hash: each part gets its share, whatever the ids look like."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from tidings.jobs.model import JobId
from tidings.jobs.store import due_shard
from tidings.kernel.ids import TenantId, UserId, encode_ulid
from tidings.schema.tables.items.inboxes import BUCKETS, profile_key
from tidings.schema.tables.items.jobs import SHARDS

HEADROOM = 1.5
PER_PART = 400

type PartOf = Callable[[str], object]

IDS: dict[str, Callable[[int], str]] = {
    "in sequence": lambda number: f"user-{number}",
    "padded": lambda number: f"{number:012d}",
    "ULIDs of one millisecond": lambda number: encode_ulid(1_800_000_000_000, number << 40),
    "ULIDs of one process": lambda number: encode_ulid(1_800_000_000_000 + number, 7),
    "mail addresses": lambda number: f"{number}@example.com",
}


def bucket(user: str) -> object:
    return profile_key(TenantId("acme"), UserId(user))["PK"]


def shard(job: str) -> object:
    return due_shard(JobId(job))


def busiest(part_of: PartOf, ids: Sequence[str], parts: int) -> float:
    """Return the load of the fullest part, relative to its fair share."""
    counts = Counter(map(part_of, ids))
    return max(counts.values()) / (len(ids) / parts)


@pytest.mark.parametrize("shape", IDS)
@pytest.mark.parametrize(("part_of", "parts"), [(bucket, BUCKETS), (shard, SHARDS)], ids=["users", "jobs"])
def test_no_part_has_more_than_its_share_and_half_of_it(shape: str, part_of: PartOf, parts: int) -> None:
    ids = [IDS[shape](number) for number in range(PER_PART * parts)]
    assert busiest(part_of, ids, parts) < HEADROOM


@pytest.mark.parametrize(
    "mutant",
    [
        lambda user: len(user) % BUCKETS,
        lambda user: ord(user[0]) % BUCKETS,
        lambda user: ord(user[-1]) % BUCKETS,
        lambda user: sum(user.encode()) % BUCKETS,
        lambda _: 0,
    ],
    ids=["length", "first letter", "last letter", "sum of letters", "one for all"],
)
def test_a_key_function_that_concentrates_load_is_found(mutant: PartOf) -> None:
    shares = [
        busiest(mutant, [ids(number) for number in range(PER_PART * BUCKETS)], BUCKETS)
        for ids in IDS.values()
    ]
    assert max(shares) > HEADROOM
