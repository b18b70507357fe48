import string
import time
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any, override

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.kernel.errors import Code
from tidings.kernel.security import Secret
from tidings.platform.telemetry import masking
from tidings.platform.telemetry.masking import (
    STARS,
    SizeLimits,
    mask_fields,
    mask_secrets,
    mask_text,
    names_a_secret,
)

BOUNDS = SizeLimits()
HIDDEN = "hunter2-hidden"


@dataclass(frozen=True)
class Login:
    user: object
    password: object


@dataclass(frozen=True)
class Step:
    user: str
    otp: str


class Frame(msgspec.Struct):
    kind: object
    token: object


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024 - the untyped kind is what is tested


class Colour(Enum):
    RED = "red"


class Unprintable:
    @override
    def __repr__(self) -> str:
        raise RuntimeError("no")


def wrapped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.text(string.ascii_lowercase, min_size=1, max_size=8)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(names, inner, max_size=3),
        st.builds(Login, user=inner, password=st.just(HIDDEN)),
        st.builds(Frame, kind=inner, token=st.just(HIDDEN)),
        st.builds(Pair, inner, inner),
        st.builds(SimpleNamespace, held=inner),
        st.builds(ValueError, inner),
        st.builds(KeyError, inner),
    )


secrets = st.just(Secret(HIDDEN))
nested = st.recursive(
    st.one_of(secrets, st.text(max_size=10), st.integers(), st.none(), st.binary(max_size=8)),
    wrapped,
    max_leaves=20,
)


def written(fields: dict[str, object]) -> str:
    return msgspec.json.encode(mask_fields(fields, BOUNDS)).decode()


@settings(deadline=None)
@given(nested)
def test_a_secret_is_masked_at_any_depth(value: object) -> None:
    assert HIDDEN not in written({"value": value, "set": {Secret(HIDDEN)}, "by_secret": {Secret(HIDDEN): 1}})


@pytest.mark.parametrize(
    ("break_it", "leak"),
    [
        (lambda patch: patch.setattr(Secret, "__str__", Secret.reveal), {Secret(HIDDEN): 1}),
        (
            lambda patch: patch.setattr(Secret, "__repr__", Secret.reveal),
            SimpleNamespace(held=Secret(HIDDEN)),
        ),
        (lambda patch: patch.setattr(masking, "names_a_secret", lambda _: False), [Login("ann", HIDDEN)]),
        (lambda patch: patch.setattr(masking, "_fields", lambda _: None), Step("ann", HIDDEN)),
        (
            lambda patch: patch.setattr(masking, "mask_secrets", lambda text: text),
            f"redis://app:{HIDDEN}@cache",
        ),
    ],
    ids=["str", "repr", "names", "fields", "scrub"],
)
def test_each_part_of_the_mask_is_needed(
    monkeypatch: pytest.MonkeyPatch, break_it: Callable[[pytest.MonkeyPatch], None], leak: object
) -> None:
    assert HIDDEN not in written({"value": leak})
    break_it(monkeypatch)
    assert HIDDEN in written({"value": leak})


@pytest.mark.parametrize(
    "name",
    [
        *("password", "Authorization", "refresh_token", "api_key", "X-Api-Key", "code", "sasl.password"),
        *("client_secret", "aws_secret_access_key", "otp", "data_key", "verification_code", "Set-Cookie"),
    ],
)
def test_a_field_with_a_secret_name_is_masked(name: str) -> None:
    assert mask_fields({"outer": [{name: HIDDEN}]}, BOUNDS) == {"outer": [{name: STARS}]}


@pytest.mark.parametrize(
    "name",
    ["error_code", "exit_code", "close_code", "key", "sequence", "author", "tenant", "chat", "encoded"],
)
def test_fields_with_other_names_are_not_masked(name: str) -> None:
    assert not names_a_secret(name)


def test_a_missing_secret_is_not_masked() -> None:
    assert mask_fields({"token": None, "has_token": True}, BOUNDS) == {"token": None, "has_token": True}


@pytest.mark.parametrize(
    "text",
    [
        f"redis://app:{HIDDEN}@cache:6379/0",
        f"rediss://:{HIDDEN}/with@signs@cache",
        f"can't log in: password={HIDDEN}, user=ann",
        f'{{"refresh_token": "{HIDDEN} and more"}}',
        f"Authorization: Bearer {HIDDEN}",
        f"authorization=Basic {HIDDEN}",
        f"got bearer {HIDDEN}",
        f"X-Api-Key: {HIDDEN}",
        f"Login(user='ann', password='{HIDDEN}')",
        f"eyJhbGciOiJIUzI1NiJ9.{HIDDEN}.x",
    ],
)
def test_secrets_inside_a_text_are_masked(text: str) -> None:
    assert HIDDEN not in mask_secrets(text)
    assert STARS in mask_secrets(text)


def test_ordinary_texts_are_unchanged() -> None:
    for text in ("delivered 3 entries", "at 12:30: ok", "a=b", "http://host:8000/path", "tokens are fine"):
        assert mask_secrets(text) == text


def test_a_secret_on_the_edge_of_the_cut_is_masked_before_the_cut() -> None:
    text = "x" * 80 + f" redis://app:{HIDDEN}@cache"
    assert "hunter" not in mask_text(text, SizeLimits(value_chars=100))


def test_values_and_lines_are_bounded() -> None:
    assert mask_fields({"words": "x" * 5_000}, SizeLimits(value_chars=10)) == {
        "words": "x" * 10 + "… (5000 chars)"
    }
    many = mask_fields({"many": list(range(1_000))}, BOUNDS)["many"]
    assert isinstance(many, list)
    assert len(many) == 65
    wide = {f"field{n}": "y" * 1_900 for n in range(60)}
    assert len(msgspec.json.encode(mask_fields(wide, BOUNDS))) < 20_000


def test_a_huge_or_recursive_structure_is_cut_quickly() -> None:
    bush: list[object] = [1]
    for _ in range(12):
        bush = [bush] * 50
    ring: dict[str, object] = {}
    ring["ring"] = ring
    before = time.process_time()
    assert len(written({"bush": bush, "ring": ring})) < 20_000
    assert time.process_time() - before < 1


@settings(deadline=None)
@given(st.text(max_size=3_000))
def test_scrubbing_breaks_on_no_text(text: str) -> None:
    assert len(mask_text(text, BOUNDS)) <= BOUNDS.value_chars + 20


@pytest.mark.parametrize("piece", ["token", "://", "bearer ", "eyJaaaaaaaa.", "password=", "secret-", "://@"])
def test_no_text_makes_scrubbing_slow(piece: str) -> None:
    before = time.process_time()
    mask_text(piece * 3_000, BOUNDS)
    assert time.process_time() - before < 0.5


def test_every_kind_of_value_becomes_plain_json() -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    values: dict[str, object] = {
        "error_code": Code.SETTINGS_INVALID,
        "colour": Colour.RED,
        "when": when,
        "big": 2**80,
        "nan": float("nan"),
        "bytes": b"123",
        "decimal": Decimal("1.5"),
        "error": ValueError("no"),
        "odd": "\ud800",
        "unprintable": Unprintable(),
    }
    assert mask_fields(values, BOUNDS) == {
        "error_code": "settings_invalid",
        "colour": "red",
        "when": when,
        "big": "<integer of 81 bits>",
        "nan": "nan",
        "bytes": "<3 bytes>",
        "decimal": "1.5",
        "error": "ValueError: no",
        "odd": "?",
        "unprintable": "<Unprintable that can't be shown>",
    }
    assert written(values)


@pytest.mark.parametrize(
    ("text", "hidden", "shown"),
    [
        (
            "key tidings_sk.acme.01JCQ4Z7N3V5X9B2M8K6T1R0WD.s3cr3t-_x refused",
            "s3cr3t",
            "acme.01JCQ4Z7N3V5X9B2M8K6T1R0WD",
        ),
        ("tdr.acme.01JCQ4Z7N3V5X9B2M8K6T1R0WD.AbCdEf", "AbCdEf", "tdr.acme"),
        ("no message to +4915112345678.", "4915112345678", "no message to"),
        ("Invalid parameter: PhoneNumber Reason: +88216123456 is not valid", "88216123456", "Reason"),
        ("signed by AKIAIOSFODNN7EXAMPLE today", "IOSFODNN7", "today"),
    ],
)
def test_our_own_credentials_numbers_and_aws_keys_are_masked_in_texts(
    text: str, hidden: str, shown: str
) -> None:
    scrubbed = mask_secrets(text)
    assert hidden not in scrubbed
    assert shown in scrubbed


@pytest.mark.parametrize("name", ["phone", "to", "text", "content", "challenge", "phone_number"])
def test_fields_with_content_or_phone_numbers_of_users_are_masked(name: str) -> None:
    assert mask_fields({name: "+4915112345678"}, SizeLimits()) == {name: STARS}


@pytest.mark.parametrize("text", ["1 + 1", "took +250 ms", "+12", "context", "a.b.c"])
def test_texts_without_numbers_and_credentials_are_unchanged(text: str) -> None:
    assert mask_secrets(text) == text
