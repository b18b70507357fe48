"""Why a credential was refused: told to operators in the security log, never to whoever presented it."""

import base64
import re
import secrets
from collections.abc import Sequence

from tidings.accounts.model import ChallengeId, Phone
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import USER_ID_DESCRIPTION, TenantId, UserId, is_user_id
from tidings.kernel.security import SecurityEventKind, record_security_event


class CredentialRejectedError(Exception):
    """`is_over`: it was good, signature and all, and only its time is over. That much its bearer may know.

    `renewal` tells the bearer how to get a new one.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_over: bool = False,
        renewal: str = "Get a new one: from your own server, or with the refresh token.",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_over = is_over
        self.renewal = renewal


def to_public_error(why: CredentialRejectedError) -> TidingsError:
    """The same words for every reason but one: an attacker learns nothing from them."""
    if why.is_over:
        return TidingsError(Code.CREDENTIAL_EXPIRED, "The credential's time is over.", hint=why.renewal)
    record_security_event(SecurityEventKind.CREDENTIAL_REJECTED, reason=why.reason)
    return TidingsError(
        Code.CREDENTIAL_INVALID,
        "The credential is not valid here.",
        hint="An operator can see why: `tidings token check` explains a user's token, "
        "and the log has an event `credential_rejected` with the reason.",
    )


def rejected_for(reason: str, *, tenant: str = "", user: str = "", subject: str = "") -> TidingsError:
    """Record why a token or a session is refused, and return the one answer that its bearer gets.

    `tenant` only if it is verified: events are bounded for each tenant and place, and somebody who invents tenants
    would have a bound for each of them.
    """
    record_security_event(
        SecurityEventKind.CREDENTIAL_REJECTED, tenant=tenant, user=user, subject=subject, reason=reason
    )
    return credential_invalid()


CODE_DIGITS = 6
MAX_TRIES = 5
DEVICE_NAME_BYTES = 128
DISPLAY_NAME_BYTES = 256
AVATAR_BYTES = 1024

_E164 = re.compile(r"\+[1-9][0-9]{6,14}")
_CODE = re.compile(rf"[0-9]{{{CODE_DIGITS}}}")
_CHALLENGE = re.compile(r"[A-Z2-7]{26}")


def parse_phone(text: str) -> Phone:
    """Taken as it stands: two spellings of one number would be two users."""
    if not _E164.fullmatch(text):
        raise invalid_request(
            "This is not a phone number in E.164.", "Write `+`, the country, the number: +4915123456789."
        )
    return Phone(text)


def check_is_served(phone: Phone, prefixes: Sequence[str]) -> None:
    """Refuse a number by its first digits alone, so that the answer says nothing about the number itself."""
    if not phone.startswith(tuple(prefixes)):
        raise invalid_request(
            "Codes are not sent to numbers of this country.",
            "An operator sets where codes are sent: `tidings tenant set --phone-prefix`.",
        )


def new_code() -> str:
    return f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"


def new_challenge() -> ChallengeId:
    """128 bits of chance: who was not told it can't use up somebody else's tries."""
    return ChallengeId(base64.b32encode(secrets.token_bytes(16)).decode().rstrip("="))


def is_well_formed(challenge: str, code: str) -> bool:
    return bool(_CHALLENGE.fullmatch(challenge) and _CODE.fullmatch(code))


def code_hash_input(tenant: TenantId, challenge: ChallengeId, phone: Phone, code: str) -> bytes:
    """What the keyed hash of a code covers: it is good for this number and this challenge alone.

    No other use of the tenant's key starts with `_`: there it is the tenant, and none is called so.
    """
    return f"_code#{tenant}#{challenge}#{phone}#{code}".encode()


def check_user_id(text: str) -> UserId:
    return UserId(_id(text, "A user's id"))


def check_device_id(text: str) -> str:
    return _id(text, "A device's id")


def check_device_name(name: str) -> str:
    return _short(name, DEVICE_NAME_BYTES, "A device's name")


def check_display_name(name: str) -> str:
    if not name.strip():
        raise invalid_request("A display name has at least one letter.")
    return _short(name, DISPLAY_NAME_BYTES, "A display name")


def check_avatar(uri: str) -> str:
    if not uri.startswith("https://"):
        raise invalid_request("An avatar is an https:// address.")
    return _short(uri, AVATAR_BYTES, "An avatar's address")


def invalid_request(message: str, hint: str = "") -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, message, hint=hint)


def credential_invalid() -> TidingsError:
    """One answer for all that is wrong with a credential: which it was would help somebody who guesses."""
    return TidingsError(Code.CREDENTIAL_INVALID, "This is not, or no longer, a way in.")


def _id(text: str, what: str) -> str:
    if not is_user_id(text):
        raise invalid_request(f"{what} has {USER_ID_DESCRIPTION}.")
    return text


def _short(text: str, most_bytes: int, what: str) -> str:
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:
        raise invalid_request(f"{what} is not text.") from None
    if size_bytes > most_bytes:
        raise invalid_request(f"{what} is at most {most_bytes} bytes long.")
    return text
