"""Validation of phone numbers, codes and names."""

import hmac
from base64 import b32encode
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.accounts import rules
from tidings.accounts.model import ChallengeId, Phone
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.schema.tables.limits import PART_BYTES


@pytest.mark.parametrize("number", ["+4915112345678", "+15555550100", "+2903333", "+123456789012345"])
def test_a_number_in_e164_is_accepted_unchanged(number: str) -> None:
    assert rules.parse_phone(number) == number


@pytest.mark.parametrize(
    "number",
    [
        "",
        "4915112345678",
        "+0915112345678",
        "+49 151 12345678",
        "+49151-12345678",
        "004915112345678",
        "+123456",
        "+1234567890123456",
        "+4915112345678\n",
        "+٤٩١٥١١٢٣٤٥٦٧",
        "+4" + "\u0661" * 10,  # digits to Python, not to E.164
        "+49151#2345678",
        "tel:+4915112345678",
    ],
)
def test_a_number_not_in_e164_is_refused(number: str) -> None:
    with pytest.raises(TidingsError) as caught:
        rules.parse_phone(number)
    assert caught.value.code is Code.REQUEST_INVALID
    assert number not in caught.value.message or not number


def test_codes_have_six_digits_and_use_the_whole_space() -> None:
    codes = {rules.new_code() for _ in range(3000)}
    assert all(len(code) == 6 and code.isdecimal() for code in codes)
    assert len(codes) > 2950
    assert {code[0] for code in codes} == set("0123456789")


def test_challenges_are_random_and_valid_in_a_key() -> None:
    drawn = {rules.new_challenge() for _ in range(1000)}
    assert len(drawn) == 1000
    assert {len(challenge) for challenge in drawn} == {26}
    assert all(rules.is_well_formed(challenge, "000000") for challenge in drawn)


@pytest.mark.parametrize("code", ["", "12345", "1234567", "12345a", "١٢٣٤٥٦", "12345\n", "#23456"])
def test_a_text_other_than_six_digits_is_not_a_code(code: str) -> None:
    assert not rules.is_well_formed(rules.new_challenge(), code)


@pytest.mark.parametrize("challenge", ["", "A" * 25, "A" * 27, "a" * 26, "A" * 25 + "#", "A" * 26 + "\n"])
def test_an_invalid_challenge_is_not_parsed(challenge: str) -> None:
    assert not rules.is_well_formed(challenge, "123456")


_PARTS = st.tuples(
    st.text("abc", min_size=1, max_size=3).map(TenantId),
    st.text("ABC", min_size=26, max_size=26).map(ChallengeId),
    st.integers(10**6, 10**14).map(lambda n: Phone(f"+{n}")),
    st.integers(0, 10**6 - 1).map(lambda n: f"{n:06}"),
)


@given(_PARTS, _PARTS)
def test_different_codes_are_never_hashed_from_the_same_bytes(
    one: tuple[TenantId, ChallengeId, Phone, str], other: tuple[TenantId, ChallengeId, Phone, str]
) -> None:
    assert (rules.code_hash_input(*one) == rules.code_hash_input(*other)) == (one == other)


def test_the_hashed_bytes_of_a_code_are_no_valid_message() -> None:
    """Messages start with their tenant, and no tenant starts with `_`."""
    hashed = rules.code_hash_input(TenantId("acme"), rules.new_challenge(), Phone("+4915112345678"), "123456")
    assert hashed.startswith(b"_")


@pytest.mark.parametrize("user", ["anna", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "a@b.c", "auth0|65f", "x" * 64])
def test_an_app_may_choose_user_ids(user: str) -> None:
    assert rules.check_user_id(user) == user


@pytest.mark.parametrize(
    "user", ["", "a#b", "a*", "a b", "a\n", "\x00", "ä", "a/b", ".", "..", "x" * 65, "\ud800"]
)
def test_an_id_that_would_break_a_key_is_refused(user: str) -> None:
    with pytest.raises(TidingsError) as caught:
        rules.check_user_id(user)
    assert caught.value.code is Code.REQUEST_INVALID


@pytest.mark.parametrize("uri", ["http://example.com/a", "javascript:alert(1)", "https://" + "x" * 1024, ""])
def test_an_avatar_is_a_short_https_address(uri: str) -> None:
    with pytest.raises(TidingsError):
        rules.check_avatar(uri)
    assert rules.check_avatar("https://example.com/a.png")


@pytest.mark.parametrize("name", ["", "  ", "ä" * 129])
def test_a_display_name_is_not_empty_and_short(name: str) -> None:
    with pytest.raises(TidingsError):
        rules.check_display_name(name)
    assert rules.check_display_name("ä" * 128)


def test_the_hash_of_a_number_is_a_key_part_and_depends_on_the_key() -> None:
    def mac_of(key: bytes) -> Callable[[bytes], bytes]:
        return lambda data: hmac.digest(key, data, "sha256")

    number = Phone("+4915112345678")
    hashed = rules.phone_hash(mac_of(b"k"), number)
    assert hashed == b32encode(hmac.digest(b"k", b"_phone#+4915112345678", "sha256")[:20]).decode().lower()
    assert len(hashed) == PART_BYTES["phone"]
    assert hashed != rules.phone_hash(mac_of(b"l"), number)
    assert hashed != rules.phone_hash(mac_of(b"k"), Phone("+4915112345679"))
