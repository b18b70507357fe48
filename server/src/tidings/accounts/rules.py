"""Validation of account data, and the errors of refused credentials.

The reason for a refusal goes to the security log for operators, never to the client.
"""

import base64
import re
import secrets
from collections.abc import Sequence

from tidings.accounts.model import ChallengeId, Phone
from tidings.accounts.ports import Mac
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import USER_ID_DESCRIPTION, TenantId, UserId, is_pseudonym, is_user_id
from tidings.kernel.mail_addresses import EMAIL_BYTES, parse_mail_address
from tidings.kernel.security import SecurityEventKind, record_security_event

_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}")


class CredentialRejectedError(Exception):
    """A credential was refused. `reason` is for operators.

    `is_expired`: the credential was valid, including its signature, and has expired. Only this reason may be shown to
    the client, with `renewal`, which says how to get a new credential.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_expired: bool = False,
        renewal: str = "Get a new one from your server, or with the refresh token.",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_expired = is_expired
        self.renewal = renewal


def to_public_error(why: CredentialRejectedError) -> TidingsError:
    """Return one error for every reason except expiry, so that an attacker learns nothing. Log the reason."""
    if why.is_expired:
        return TidingsError(Code.CREDENTIAL_EXPIRED, "The credential has expired.", hint=why.renewal)
    record_security_event(SecurityEventKind.CREDENTIAL_REJECTED, reason=why.reason)
    return TidingsError(
        Code.CREDENTIAL_INVALID,
        "Invalid credential.",
        hint="Operators: `tidings token check` explains a user's token, and the security log has an event "
        "`credential_rejected` with the reason.",
    )


def rejected_for(reason: str, *, tenant: str = "", user: str = "", subject: str = "") -> TidingsError:
    """Log why a token or session is refused, and return the error for the client, which is the same for every reason.

    Pass `tenant` only if it is verified. Events are limited per tenant and address: an attacker who invents tenants
    would otherwise get a new limit with each.
    """
    record_security_event(
        SecurityEventKind.CREDENTIAL_REJECTED, tenant=tenant, user=user, subject=subject, reason=reason
    )
    return credential_invalid()


CODE_DIGITS = 6
MAX_TRIES = 5
DEVICE_NAME_BYTES = 128
DISPLAY_NAME_BYTES = 256
AVATAR_BYTES = 896
PHONE_HASH_BYTES = 20

_E164 = re.compile(r"\+[1-9][0-9]{6,14}")
_CODE = re.compile(rf"[0-9]{{{CODE_DIGITS}}}")
_CHALLENGE = re.compile(r"[A-Z2-7]{26}")


def parse_phone(text: str) -> Phone:
    """Accept E.164 only. Other formats are not normalized: two formats of one number would become two users."""
    if not _E164.fullmatch(text):
        raise invalid_request(
            "The phone number is not in E.164 format.",
            "Write `+`, the country code and the number, without spaces: +4915123456789.",
        )
    return Phone(text)


def check_is_served(phone: Phone, prefixes: Sequence[str]) -> None:
    """Refuse a number outside `prefixes`. Only the first digits count, so the answer reveals nothing about the number."""
    if not phone.startswith(tuple(prefixes)):
        raise invalid_request(
            "Codes are not sent to phone numbers with this prefix.",
            "Operators: allow a prefix with `tidings tenant set --phone-prefix`.",
        )


def new_code() -> str:
    return f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"


def new_challenge() -> ChallengeId:
    """Return 128 random bits: only the client that requested the code can use up its attempts."""
    return ChallengeId(base64.b32encode(secrets.token_bytes(16)).decode().rstrip("="))


def is_well_formed(challenge: str, code: str) -> bool:
    return bool(_CHALLENGE.fullmatch(challenge) and _CODE.fullmatch(code))


def code_hash_input(tenant: TenantId, challenge: ChallengeId, phone: Phone, code: str) -> bytes:
    """Return the input of a code's keyed hash. It binds the code to this phone number and challenge.

    No other input under the tenant's key starts with `_code#`. Inputs without a purpose start with the tenant's id,
    which has no `_`.
    """
    return f"_code#{tenant}#{challenge}#{phone}#{code}".encode()


def phone_hash(mac: Mac, phone: Phone) -> str:
    """Return the keyed hash that represents a number in the claim and in the index: 32 characters.

    A hash without a key would reveal the number: there are few enough numbers to try them all. No other input under
    the tenant's key starts with `_phone#`.
    """
    digest = mac(b"_phone#" + phone.encode())[:PHONE_HASH_BYTES]
    return base64.b32encode(digest).decode().lower()


def check_user_id(text: str) -> UserId:
    return UserId(_id(text, "A user id"))


def check_new_user_id(text: str) -> UserId:
    """Refuse pseudonyms of erased users too: messages with such a sender are shown as erased."""
    user = check_user_id(text)
    if is_pseudonym(user):
        raise invalid_request("Ids of this form are pseudonyms of erased users. Use another id.")
    return user


def check_device_id(text: str) -> str:
    return _id(text, "A device id")


def check_device_name(name: str) -> str:
    return _short(name, DEVICE_NAME_BYTES, "A device name")


def check_display_name(name: str) -> str:
    if not name.strip():
        raise invalid_request("A display name must not be blank.")
    return _short(name, DISPLAY_NAME_BYTES, "A display name")


def check_avatar(uri: str) -> str:
    if not uri.startswith("https://"):
        raise invalid_request("An avatar must be an https:// URL.")
    return _short(uri, AVATAR_BYTES, "An avatar URL")


def check_email(address: str) -> str:
    """Accept an address that a mail server can understand. Whether it exists is known only when a mail arrives."""
    try:
        parse_mail_address(address)
    except ValueError:
        raise invalid_request(
            f"An e-mail address has the form `name@example.com`, in ASCII, and at most {EMAIL_BYTES} characters."
        ) from None
    return address


def check_locale(locale: str) -> str:
    if _LOCALE.fullmatch(locale) is None:
        raise invalid_request("A locale is a language tag, such as `de` or `pt-BR`.")
    return locale


def invalid_request(message: str, hint: str = "") -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, message, hint=hint)


def credential_invalid() -> TidingsError:
    """Return the same error for every reason: the reason would help an attacker who guesses."""
    return TidingsError(Code.CREDENTIAL_INVALID, "Invalid or expired credential.")


def _id(text: str, what: str) -> str:
    if not is_user_id(text):
        raise invalid_request(f"{what} must have {USER_ID_DESCRIPTION}.")
    return text


def _short(text: str, max_bytes: int, what: str) -> str:
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:
        raise invalid_request(f"{what} must be valid Unicode.") from None
    if size_bytes > max_bytes:
        raise invalid_request(f"{what} must have at most {max_bytes} bytes; it has {size_bytes}.")
    return text
