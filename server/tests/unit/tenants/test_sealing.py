"""Sealed content opens only unaltered, at its location, with its key."""

import hmac
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import assume, given
from hypothesis import strategies as st

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.schema.tables.limits import SEAL_BYTES
from tidings.tenants.model import CONTENT, PREVIEW, Purpose
from tidings.tenants.rules import seal_location
from tidings.tenants.sealing import ContentKey, ContentKeys, DecryptionError, UserKeys

ACME = TenantId("acme")
CHAT = ChatKey(ACME, ChatId("c"))
ANNA = UserId("anna")
KEY, FINGERPRINT_KEY = bytes(range(32)), bytes(range(32, 64))

type Place = tuple[Purpose, ChatKey, int]

names = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(["", "1", "1:a", "a1:b", "a#b"])
chats = st.builds(ChatKey, names.map(TenantId), names.map(ChatId))
places = st.tuples(st.sampled_from((CONTENT, PREVIEW)), chats, st.integers(1, 10**15))
bodies = st.binary(max_size=300)


def keys_of(tenant: TenantId = ACME, *, is_encrypting: bool = True, **more: dict[int, bytes]) -> ContentKeys:
    contents = more.get("contents", {1: KEY})
    return ContentKeys(
        tenant,
        fingerprint_key=FINGERPRINT_KEY,
        content_keys=contents,
        versions=contents,
        is_encrypting=is_encrypting,
    )


def refused(opening: Callable[[], bytes]) -> Code:
    with pytest.raises(TidingsError) as caught:
        opening()
    return caught.value.code


@given(places, bodies)
def test_content_is_unsealed_at_its_place(where: Place, body: bytes) -> None:
    key, spot = ContentKey(7, KEY), seal_location(*where)
    sealed, clear = key.seal(spot, body), key.leave_clear(spot, body)
    assert key.open(spot, sealed) == key.open(spot, clear) == body
    assert body in clear
    assert len(clear) < len(sealed) == len(body) + SEAL_BYTES


@given(places, places, bodies)
def test_moved_content_is_not_unsealed(where: Place, elsewhere: Place, body: bytes) -> None:
    assume(where != elsewhere)
    key = ContentKey(7, KEY)
    for stored in (key.seal(seal_location(*where), body), key.leave_clear(seal_location(*where), body)):
        with pytest.raises(DecryptionError):
            key.open(seal_location(*elsewhere), stored)


@given(places, places)
def test_two_places_never_have_the_same_bytes_or_prefix(one: Place, other: Place) -> None:
    assert (seal_location(*one) == seal_location(*other)) is (one == other)
    assert one == other or not seal_location(*other).startswith(seal_location(*one))


@pytest.mark.parametrize("is_encrypting", [True, False])
@pytest.mark.parametrize(
    ("chat", "sequence"),
    [(ChatKey(TenantId("other"), ChatId("c")), 5), (ChatKey(ACME, ChatId("d")), 5), (CHAT, 6), (CHAT, 55)],
)
def test_content_is_not_unsealed_for_another_tenant_chat_or_sequence(
    chat: ChatKey, sequence: int, *, is_encrypting: bool
) -> None:
    content = keys_of(is_encrypting=is_encrypting).seal(CHAT, 5, b"hello")
    # the same secret in both tenants: what refuses is the place
    keys = keys_of(chat.tenant)
    assert refused(lambda: keys.unseal(chat, sequence, content)) is Code.DECRYPTION_FAILED


@pytest.mark.parametrize("is_encrypting", [True, False])
def test_a_preview_is_not_taken_for_content_nor_content_for_a_preview(*, is_encrypting: bool) -> None:
    keys = UserKeys(ACME, ANNA, {1: KEY}, is_encrypting=is_encrypting)
    content, preview = keys.seal(CHAT, 5, b"hello"), keys.seal_preview(CHAT, 5, b"hello")
    assert keys.unseal_preview(CHAT, 5, preview) == keys.unseal(CHAT, 5, content) == b"hello"
    assert refused(lambda: keys.unseal(CHAT, 5, preview)) is Code.DECRYPTION_FAILED
    assert refused(lambda: keys.unseal_preview(CHAT, 5, content)) is Code.DECRYPTION_FAILED


@pytest.mark.parametrize("is_encrypting", [True, False])
def test_every_flipped_bit_is_refused(*, is_encrypting: bool) -> None:
    # a version with the same secret: that it is another one must be seen, too
    keys = keys_of(is_encrypting=is_encrypting, contents={1: KEY, 3: bytes(32), 2**31 + 1: KEY})
    content = keys.seal(CHAT, 5, b"attack at dawn")
    for bit in range(len(content) * 8):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        assert refused(lambda: keys.unseal(CHAT, 5, bytes(flipped))) is Code.DECRYPTION_FAILED, bit  # noqa: B023 - called at once


@pytest.mark.parametrize("is_encrypting", [True, False])
def test_every_shorter_or_longer_content_is_refused(*, is_encrypting: bool) -> None:
    keys = keys_of(is_encrypting=is_encrypting)
    content = keys.seal(CHAT, 5, b"attack at dawn")
    for length in range(len(content)):
        assert refused(lambda: keys.unseal(CHAT, 5, content[:length])) is Code.DECRYPTION_FAILED  # noqa: B023 - called at once
    assert refused(lambda: keys.unseal(CHAT, 5, content + b"\0")) is Code.DECRYPTION_FAILED


def test_content_that_was_never_sealed_is_refused_even_where_encryption_is_off() -> None:
    """An attacker who can write the table cannot forge content, in either mode."""
    for forged in (b"hello", b"\x00hello", b"\x00\x00\x00\x00\x01" + bytes(16) + b"hello", b"\x02" * 60):
        for is_encrypting in (True, False):
            keys = keys_of(is_encrypting=is_encrypting)
            assert refused(lambda: keys.unseal(CHAT, 5, forged)) is Code.DECRYPTION_FAILED  # noqa: B023 - called at once


def test_switching_encryption_on_or_off_keeps_what_is_stored_readable() -> None:
    on, off = keys_of(), keys_of(is_encrypting=False)
    assert off.unseal(CHAT, 5, on.seal(CHAT, 5, b"sealed")) == b"sealed"
    assert on.unseal(CHAT, 5, off.seal(CHAT, 5, b"clear")) == b"clear"
    assert off.seal(CHAT, 5, b"clear").endswith(b"clear")


def test_the_same_body_is_never_sealed_to_the_same_bytes() -> None:
    keys = keys_of()
    assert len({keys.seal(CHAT, 5, b"hello") for _ in range(1000)}) == 1000


def test_the_newest_key_seals_and_the_older_ones_still_open() -> None:
    before = keys_of().seal(CHAT, 5, b"old")
    keys = keys_of(contents={1: KEY, 2: bytes(32)})
    assert keys.active_version == 2
    assert keys_of(contents={2: bytes(32)}).unseal(CHAT, 6, keys.seal(CHAT, 6, b"new")) == b"new"
    assert keys.unseal(CHAT, 5, before) == b"old"


def test_a_key_is_not_used_for_another_tenant() -> None:
    with pytest.raises(ValueError, match="not for other"):
        keys_of().seal(ChatKey(TenantId("other"), ChatId("c")), 1, b"hello")


def test_the_form_of_sealed_content_is_the_documented_one() -> None:
    """Decrypt with independent code, so that stored content can always be opened."""
    stored = keys_of().seal(CHAT, 5, b"hello")
    where = b"c4:acme1:c5;"
    key = hmac.digest(KEY, b"\x01\x00\x00\x00\x01" + where, "sha256")
    assert stored[:5] == b"\x01\x00\x00\x00\x01"
    assert AESGCM(key).decrypt(stored[5:17], stored[17:], where) == b"hello"
    clear = UserKeys(ACME, ANNA, {1: KEY}, is_encrypting=False).seal_preview(CHAT, 5, b"hello")
    tag = hmac.digest(KEY, b"\x00\x00\x00\x00\x01p4:acme1:c5;hello", "sha256")[:16]
    assert clear == b"\x00\x00\x00\x00\x01" + tag + b"hello"


def test_content_of_an_earlier_version_is_unsealed() -> None:
    sealed = "01000000010102030405060708090a0b0cfd1b1a418ab550144b77ebd02701dd36bacccf76ce"
    assert keys_of().unseal(CHAT, 5, bytes.fromhex(sealed)) == b"hello"


def test_a_fingerprint_is_equal_for_equal_content_and_reveals_nothing() -> None:
    keys = keys_of()
    assert keys.fingerprint(b"hello") == hmac.digest(FINGERPRINT_KEY, b"hello", "sha256")
    assert keys.fingerprint(b"hello") != keys.fingerprint(b"hello!")


def test_keys_do_not_print() -> None:
    shown = repr(keys_of()) + str(vars(keys_of())) + repr(ContentKey(1, KEY))
    assert repr(KEY)[2:12] not in shown
    assert KEY.hex() not in shown


def test_errors_have_the_place_and_never_the_content() -> None:
    with pytest.raises(TidingsError) as caught:
        keys_of().unseal(CHAT, 5, keys_of().seal(CHAT, 6, b"hello"))
    assert caught.value.details == {"tenant": "acme", "chat": "c", "sequence": 5}
    assert "hello" not in str(caught.value)


def test_a_field_of_a_profile_opens_for_its_user_and_name_only() -> None:
    anna, ben = (UserKeys(ACME, user, {1: KEY}, is_encrypting=True) for user in (ANNA, UserId("ben")))
    name = anna.seal_field("display_name", "Anna")
    assert anna.open_field("display_name", name) == "Anna"
    assert anna.open_field("avatar_uri", name) is None
    assert ben.open_field("display_name", name) is None


def test_the_fingerprint_key_of_a_user_is_derived_from_the_first_version() -> None:
    derived = hmac.digest(KEY, b"fingerprint of requests", "sha256")
    keys = UserKeys(ACME, ANNA, {1: KEY, 2: bytes(32)}, is_encrypting=True)
    assert keys.fingerprint(b"hello") == hmac.digest(derived, b"hello", "sha256")
