"""The bucket and its bookings, and a storm of devices on a simulated clock."""

import heapq
import random

import pytest

from tidings.gateway.admission import AdmissionOptions, ConnectLimiter, UpgradeLimiter, max_admission_delay_s
from tidings.gateway.transport.ports import UpgradeRefusal, UpgradeRequest

OPTIONS = AdmissionOptions(max_connects_per_s=500, burst=500, jitter_s=1.0, max_wait_s=60.0)


def storm(
    clients: int, options: AdmissionOptions, seed: int, latency_s: float = 0.05
) -> tuple[list[float], int]:
    """Connect all at time 0 and retry at the returned times. Return the accept times and the most tries of a client."""
    draw = random.Random(seed).random
    bucket = ConnectLimiter(options, 0.0, draw)
    arrivals = [(draw() * latency_s, client, 1) for client in range(clients)]
    heapq.heapify(arrivals)
    entered, most_tries = [], 0
    while arrivals:
        now, client, tries = heapq.heappop(arrivals)
        wait_ms = bucket.take(now)
        most_tries = max(most_tries, tries)
        if wait_ms is None:
            entered.append(now)
        else:
            heapq.heappush(arrivals, (now + wait_ms / 1_000 + draw() * latency_s, client, tries + 1))
    return entered, most_tries


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("clients", [600, 5_000, 20_000])
def test_all_clients_of_a_storm_are_connected_within_the_stated_time(clients: int, seed: int) -> None:
    entered, _ = storm(clients, OPTIONS, seed)
    assert len(entered) == clients
    assert max(entered) <= max_admission_delay_s(clients, OPTIONS)


def test_no_client_is_rejected_many_times() -> None:
    assert storm(5_000, OPTIONS, seed=1)[1] <= 4


def test_no_second_of_a_storm_admits_more_than_the_rate_and_the_burst() -> None:
    entered = sorted(storm(5_000, OPTIONS, seed=2)[0])
    most = max(sum(start <= at < start + 1 for at in entered) for start in entered[::50])
    assert most <= OPTIONS.burst + OPTIONS.max_connects_per_s + 1


def test_rejected_clients_return_evenly_distributed() -> None:
    bucket = ConnectLimiter(OPTIONS, 0.0, random.Random(3).random)
    waits_ms = [wait for _ in range(3_000) if (wait := bucket.take(0.0)) is not None]
    assert len(waits_ms) == 2_500
    per_second = [sum(s * 1_000 <= wait < (s + 1) * 1_000 for wait in waits_ms) for s in range(1, 5)]
    assert all(400 < count < 600 for count in per_second), per_second


def test_jitter_separates_clients_with_the_same_retry_time() -> None:
    options = AdmissionOptions(max_connects_per_s=500, burst=1, jitter_s=1.0)
    early, late = ConnectLimiter(options, 0.0, lambda: 0.0), ConnectLimiter(options, 0.0, lambda: 1.0)
    assert early.take(0.0) is late.take(0.0) is None
    assert (early.take(0.0), late.take(0.0)) == (2, 1_002)


def test_connections_below_the_rate_are_accepted_immediately() -> None:
    bucket = ConnectLimiter(OPTIONS, 0.0, lambda: 0.5)
    assert [bucket.take(n / 400) for n in range(2_000)] == [None] * 2_000


def test_no_wait_exceeds_the_maximum_and_none_is_reserved_beyond_it() -> None:
    options = AdmissionOptions(max_connects_per_s=10, burst=1, jitter_s=1.0, max_wait_s=5.0)
    bucket = ConnectLimiter(options, 0.0, random.Random(4).random)
    waits_ms = [wait for _ in range(1_000) if (wait := bucket.take(0.0)) is not None]
    assert max(waits_ms) <= 6_000
    assert all(2_500 <= wait <= 5_000 for wait in waits_ms[50:])
    assert bucket.take(20.0) is None, "a client that never returned does not reduce the limit"


def test_an_admission_refusal_has_a_code_and_a_retry_time() -> None:
    now = [0.0]
    admit = UpgradeLimiter(AdmissionOptions(max_connects_per_s=1, burst=1), lambda: now[0]).admit
    upgrade = UpgradeRequest("/", "192.0.2.1", None, None, "", None, None)
    assert admit(upgrade) is None
    refused = admit(upgrade)
    assert isinstance(refused, UpgradeRefusal)
    assert refused.status == 503
    assert 1_000 <= (refused.retry_after_ms or 0) <= 2_000


def upgrade_from(client: str) -> UpgradeRequest:
    return UpgradeRequest("/", client, None, None, "", None, None)


@pytest.mark.parametrize("attackers", [1, 4], ids=["one address", "as many as take all there is"])
def test_addresses_that_upgrade_at_their_limit_do_not_exclude_new_ones(attackers: int) -> None:
    now = [0.0]
    options = AdmissionOptions(max_connects_per_s=20, burst=20, per_address_per_s=10.0)
    admit = UpgradeLimiter(options, lambda: now[0]).admit
    flood = [upgrade_from(f"198.51.100.{n}") for n in range(attackers)]
    let_in = 0
    for step in range(1_000):
        now[0] = step / 100
        let_in += sum(admit(each) is None for each in flood)
        if step % 100 == 50:
            newcomer = upgrade_from(f"2001:db8:0:{step}::1")
            assert admit(newcomer) is None, f"at {now[0]} s"
    assert let_in <= min(attackers * (50 + 10 * 10), 20 + 20 * 10)


def test_addresses_of_one_ipv6_subscriber_count_as_one() -> None:
    admit = UpgradeLimiter(AdmissionOptions(per_address_per_s=1.0), lambda: 0.0).admit
    answers = [admit(upgrade_from(f"2001:db8::{n:x}")) for n in range(6)]
    assert [answer is None for answer in answers] == [True] * 5 + [False]
