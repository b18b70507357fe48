"""Which connections are accepted, evicted and refused at the limits."""

from tidings.api.connection_shares import AdmissionDecision, ConnectionQuota, ConnectionShares


def shares(total: int = 4, per_address: int = 3, per_tenant: int = 2) -> ConnectionShares[str]:
    return ConnectionShares(ConnectionQuota(total, per_address, per_tenant))


def served(some: ConnectionShares[str], one: str, place: str | None, tenant: str | None = None) -> bool:
    """Open a connection, serve one request, and return whether it may stay idle for long."""
    assert not some.enter(one, place).is_refused
    some.on_request(one)
    return some.on_idle(one, tenant)


def test_the_oldest_anonymous_connection_makes_room() -> None:
    some = shares()
    served(some, "known", "::1", "acme")
    for one in ("first", "second", "third"):
        assert not served(some, one, one), "not for long: it has shown no credential"
    some.on_request("first")
    some.on_idle("first", None)
    assert some.enter("new", "new") == AdmissionDecision(evicted="second"), "first has asked again since"


def test_without_an_anonymous_connection_a_new_one_is_refused_and_not_counted() -> None:
    some = shares(total=2)
    served(some, "a", "a", "acme")
    assert some.enter("b", "b") == AdmissionDecision()
    some.on_request("b")
    assert some.enter("c", "c").is_refused
    some.leave("c")
    some.leave("a")
    assert some.enter("d", "d") == AdmissionDecision()


def test_an_address_has_a_share_of_its_own() -> None:
    some = shares(total=100, per_address=2)
    served(some, "a", "here", "acme")
    served(some, "b", "here", "acme")
    assert some.enter("c", "here").is_refused
    assert some.enter("d", "there") == AdmissionDecision()
    some.leave("a")
    served(some, "e", "here")
    assert some.enter("f", "here") == AdmissionDecision(evicted="e"), (
        "not d, which has waited longer elsewhere"
    )


def test_a_trusted_proxy_is_not_one_client() -> None:
    some = shares(total=100, per_address=1)
    assert all(served(some, f"proxy {number}", None) for number in range(50)), "and may stay idle"


def test_a_tenant_above_its_share_keeps_connections_briefly() -> None:
    some = shares(total=100, per_address=100)
    assert [served(some, f"{number}", "a", "acme") for number in range(3)] == [True, True, False]
    assert served(some, "other", "a", "other")
    some.leave("0")
    assert some.on_idle("1", None), "its credential is remembered; the share is free again"


def test_closed_connections_leave_no_state() -> None:
    some = shares()
    for one, place, tenant in (("a", "x", "acme"), ("b", "x", None), ("c", None, "acme")):
        served(some, one, place, tenant)
        some.leave(one)
        some.leave(one)
    assert some == shares()
