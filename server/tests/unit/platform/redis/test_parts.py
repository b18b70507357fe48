"""The parts without I/O: keys, options, errors, slot maps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.security import Secret
from tidings.platform.redis.client import _frame
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import (
    Address,
    AskRedirectError,
    ClusterDownError,
    MovedRedirectError,
    NoScriptError,
    ServerError,
    TryAgainError,
    error_from_reply,
)
from tidings.platform.redis.keys import Key, KeyBuilder, common_slot, slot
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.topology import parse_slots

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}#:"), min_size=1, max_size=12)


def test_a_key_starts_with_tenant_and_user_in_braces() -> None:
    assert KeyBuilder("tidings").key("acme", "ann", "route", "phone") == "tidings:{acme#ann}:route:phone"


@given(names, names, names, names)
def test_all_keys_of_a_user_share_a_slot(tenant: str, user: str, kind: str, more: str) -> None:
    keys = KeyBuilder("p")
    assert (
        slot(keys.key(tenant, user, kind))
        == slot(keys.key(tenant, user, more, kind))
        == slot(f"{tenant}#{user}")
    )


@given(st.tuples(names, names, names), st.tuples(names, names, names))
def test_different_parts_have_different_keys(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (KeyBuilder("p").key(*one) == KeyBuilder("p").key(*other)) == (one == other)


def test_a_user_id_may_have_harmless_punctuation() -> None:
    assert KeyBuilder("p").key("acme", "auth0|a:b#c", "x") == "p:{acme#auth0|a:b#c}:x"


@pytest.mark.parametrize(
    ("tenant", "user", "kind"),
    [
        ("", "u", "k"),
        ("t", "", "k"),
        ("t", "u", ""),
        ("t#", "u", "k"),
        ("t{", "u", "k"),
        ("t", "u}", "k"),
        ("t", "u", "k:"),
    ],
)
def test_parts_that_would_make_two_keys_equal_are_refused(tenant: str, user: str, kind: str) -> None:
    with pytest.raises(ValueError, match="of a key must not"):
        KeyBuilder("p").key(tenant, user, kind)
    with pytest.raises(ValueError, match="braces"):
        KeyBuilder("{p}")


@pytest.mark.parametrize(
    ("key", "expected"),
    [("123456789", 12739), ("{user1000}.following", 3443), ("{}x", 10595), ("foo{}{bar}", 8363)],
)
def test_slots_of_known_keys(key: str, expected: int) -> None:
    assert slot(key) == expected


def test_no_keys_at_all_are_not_one_slot() -> None:
    with pytest.raises(ValueError, match="one slot"):
        common_slot([])
    assert common_slot([Key("{a}1"), Key("{a}2")]) == slot("a")


@pytest.mark.parametrize(
    ("url", "seeds"),
    [
        ("redis://host", (("host", 6379),)),
        ("redis://host:7000/", (("host", 7000),)),
        ("redis://a:1,b:2,c", (("a", 1), ("b", 2), ("c", 6379))),
        ("redis://[::1]:7000/0", (("::1", 7000),)),
        ("redis://[::1]", (("::1", 6379),)),
    ],
)
def test_a_url_names_hosts(url: str, seeds: object) -> None:
    assert RedisOptions.from_url(url).seeds == seeds


def test_a_url_sets_user_password_and_tls_and_prints_no_password() -> None:
    options = RedisOptions.from_url(Secret("rediss://ann:p%40ss@host"))
    assert (options.is_tls, options.username, options.password) == (True, "ann", Secret("p@ss"))
    assert options.hello[2:5] == ("AUTH", "ann", "p@ss")
    assert "p@ss" not in repr(options)
    assert RedisOptions.from_url("redis://:pw@host").hello[2:5] == ("AUTH", "default", "pw")
    assert RedisOptions.from_url("redis://host").hello == ("HELLO", "3", "SETNAME", "tidings")


@pytest.mark.parametrize("url", ["http://x", "redis://", "redis://x/3", "redis://x?db=1", "redis://h:port"])
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="Redis URL"):
        RedisOptions.from_url(url)


def test_pings_silence_and_ticks_make_the_bound() -> None:
    options = RedisOptions(seeds=(), detect_s=3.0)
    assert options.ping_s + options.silence_s + 2 * options.check_every_s == pytest.approx(3.0)


def test_pauses_grow_to_a_bound_and_differ() -> None:
    options = RedisOptions(seeds=(), longest_pause_s=2.0)
    assert max(options.pause_s(0) for _ in range(50)) <= 0.05
    long = {options.pause_s(1000) for _ in range(200)}
    assert len(long) > 100
    assert 1.0 < max(long) <= 2.0


@pytest.mark.parametrize(
    ("text", "kind", "transient"),
    [
        ("MOVED 12 10.0.0.1:7000", MovedRedirectError, False),
        ("ASK 12 10.0.0.1:7000", AskRedirectError, False),
        ("TRYAGAIN Multiple keys", TryAgainError, True),
        ("NOSCRIPT No matching script", NoScriptError, False),
        ("CLUSTERDOWN The cluster is down", ClusterDownError, True),
        ("LOADING loading the dataset", ServerError, True),
        ("READONLY You can't write", ServerError, True),
        ("OOM command not allowed", ServerError, True),
        ("NOAUTH Authentication required.", ServerError, False),
        ("NOPERM no", ServerError, False),
        ("ERR whatever", ServerError, False),
    ],
)
def test_error_replies_of_a_server_have_types(text: str, kind: type[ServerError], *, transient: bool) -> None:
    error = error_from_reply(text)
    assert type(error) is kind
    assert (error.transient, error.maybe_applied, str(error)) == (transient, False, text)


def test_a_redirection_has_its_target() -> None:
    error = error_from_reply("MOVED 3999 ::1:6381")
    assert isinstance(error, MovedRedirectError)
    assert (error.slot, error.address) == (3999, Address("::1", 6381))


def test_a_slot_map_has_the_primaries_and_a_node_without_host_is_the_answering_one() -> None:
    asked = Address("asked", 1)
    named: list[object] = [0, 5460, [b"10.0.0.1", 7000, b"id", []], [b"10.0.0.9", 7009, b"replica"]]
    nameless: list[object] = [5461, 10922, [None, 7001, b"id"]]
    empty: list[object] = [10923, 16383, [b"", 7002, b"id"]]
    shards = list(parse_slots([named, nameless, empty], asked))  # type: ignore[list-item]
    assert shards == [
        (0, 5460, ("10.0.0.1", 7000)),
        (5461, 10922, ("asked", 7001)),
        (10923, 16383, ("asked", 7002)),
    ]
    assert list(parse_slots(b"nonsense", asked)) == []


def test_a_script_is_loaded_from_its_package_and_identified_by_its_hash() -> None:
    script = Script.load("fixtures.lua", "peek.lua", keys=1, is_read=True)
    assert "KEYS[1]" in script.source
    assert len(script.sha) == 40
    assert (script.by_hash, script.by_source) == ("EVALSHA_RO", "EVAL_RO")


@pytest.mark.parametrize("command", ["MULTI", "BLPOP", "SELECT", "SUBSCRIBE"])
def test_commands_that_would_affect_others_on_the_connection_are_refused(command: str) -> None:
    with pytest.raises(ValueError, match="that all callers share"):
        _frame(command, "key")
