"""Why a credential was refused: told to operators in the security log, never to whoever presented it."""

from tidings.accounts.rules import credential_invalid
from tidings.kernel.errors import Code, TidingsError
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
        "and the log has an event `credential_refused` with the reason.",
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
