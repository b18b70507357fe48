"""Sessions of devices: begin at login, refresh, list, revoke one or all. See docs/explanation/sessions.md."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from tidings.accounts.model import Device, Principal, Session, SessionId, TokenGrant, User
from tidings.accounts.ports import Mac, OnSignedOut, SessionStore, TenantMac, UserStore
from tidings.accounts.rules import credential_invalid, rejected_for
from tidings.accounts.session_tokens import (
    SECRET_BYTES,
    AccessTokenService,
    PresentedToken,
    TokenUse,
    check_retry_key,
    classify_use,
    format_token,
    has_valid_mac,
    next_token,
    parse_token,
    token_hash,
)
from tidings.accounts.users import user_not_found
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId, UserId, new_ulid
from tidings.kernel.security import Secret, SecurityEventKind, record_security_event

MAX_S = 365 * 86_400.0
MAX_COUNT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeps:
    rows: SessionStore
    users: UserStore
    access: AccessTokenService
    mac: TenantMac
    clock: Clock
    on_signed_out: OnSignedOut


class SessionService:
    """Manage sessions. A session ends after `idle_s` without a refresh, and at the latest `max_s` after the login.

    A user has at most `max_count` sessions, one per device. Concurrent logins may exceed the limit until the user's
    next login.
    """

    def __init__(
        self, deps: SessionDeps, idle_s: float, max_s: float = MAX_S, max_count: int = MAX_COUNT
    ) -> None:
        self._deps = deps
        self._idle_ms = round(idle_s * 1000)
        self._max_ms = round(max_s * 1000)
        self._max_count = max_count

    async def begin(self, user: User, device: Device) -> TokenGrant:
        """Log a device in. End its earlier session, and the user's least recently used sessions beyond `max_count`.

        The caller has authenticated the user. Race: `revoke_all` runs after `user` was read. It increments the epoch,
        and this session is written with the old epoch, so it ends as well.
        """
        secret, now_ms = os.urandom(SECRET_BYTES), self._deps.clock.now_ms()
        row = Session(
            tenant=user.tenant,
            session=SessionId(new_ulid()),
            user=user.user,
            device=device,
            token_hash=token_hash(secret),
            epoch=user.sessions_epoch,
            created_at_ms=now_ms,
            refreshed_at_ms=now_ms,
            expires_at_ms=self._end_ms(now_ms, now_ms),
        )
        grant = await self._grant(row, secret, await self._deps.mac(row.tenant))
        await self._deps.rows.create(row)
        await self._end_replaced(row)
        return grant

    async def refresh(self, token: str, retry_key: str | None = None) -> TokenGrant:
        """Replace the current refresh token. A retry with the same `retry_key` returns the same token.

        A previous token with another key, or without one, was copied: the session ends. Raises `credential_invalid`.
        """
        presented = parse_token(token)
        check_retry_key(retry_key)
        row = presented and await self._deps.rows.read(presented.tenant, presented.session)
        if presented is None:
            raise rejected_for("malformed refresh token")
        if row is None:
            raise rejected_for("refresh token of an unknown session", subject=presented.session)
        mac = await self._deps.mac(row.tenant)
        use = classify_use(row, presented, retry_key)
        if use is TokenUse.CURRENT:
            await self._check_active(row)
            return await self._rotate(row, presented, retry_key, mac)
        return await self._repeat_grant(use, row, presented, retry_key, mac)

    async def list(self, tenant: TenantId, user: UserId) -> Sequence[Session]:
        """List active sessions, oldest first. A session that just began may be missing."""
        found = await self._deps.users.read(tenant, user)
        if found is None:
            raise user_not_found(user)
        rows = await self._deps.rows.list(tenant, user)
        now_ms = self._deps.clock.now_ms()
        return sorted(
            (row for row in rows if is_active(row, found, now_ms)), key=lambda row: row.created_at_ms
        )

    async def revoke(self, tenant: TenantId, user: UserId, session: SessionId) -> bool:
        """End a session. Return `False` if this user has no such session."""
        row = await self._deps.rows.read(tenant, session)
        is_ended = await self._deps.rows.delete(tenant, session, user, self._deps.clock.now_ms())
        if is_ended:
            if row is not None:
                await self._deps.on_signed_out(tenant, user, row.device.id)
            note_change({"session": session}, None)
            record_security_event(SecurityEventKind.SESSIONS_ENDED, tenant=tenant, user=user, subject=session)
        return is_ended

    async def revoke_all(self, tenant: TenantId, user: UserId) -> int:
        """End all sessions and refuse earlier tokens of the tenant's server. Return the number of deleted sessions.

        Incrementing the epoch ends the sessions, including those that the index does not show yet. Deleting the rows
        is only clean-up.
        """
        if not await self._deps.users.end_sessions(tenant, user, self._deps.clock.now_ms()):
            raise user_not_found(user)
        record_security_event(
            SecurityEventKind.SESSIONS_ENDED, tenant=tenant, user=user, reason="all sessions"
        )
        await self._deps.on_signed_out(tenant, user, None)
        # Race: the user logs in again while this runs. That session has the new epoch and must stay.
        confirmed = await self._deps.users.confirm(tenant, user)
        epoch = confirmed.sessions_epoch if confirmed else 0
        rows = [row for row in await self._deps.rows.list(tenant, user) if row.epoch < epoch]
        await self._deps.rows.delete_many(tenant, [row.session for row in rows])
        note_change({"sessions": len(rows)}, {"sessions": 0})
        return len(rows)

    async def _rotate(
        self, row: Session, presented: PresentedToken, retry_key: str | None, mac: Mac
    ) -> TokenGrant:
        """Store the next token. Race: several requests use one token. One update succeeds; the others are classified
        by the row that it wrote.
        """
        secret = os.urandom(SECRET_BYTES) if retry_key is None else next_token(presented, retry_key, mac)
        now_ms = self._deps.clock.now_ms()
        after = msgspec.structs.replace(
            row,
            token_hash=token_hash(secret),
            previous_hash=presented.hash,
            rotation_key_hash=None if retry_key is None else token_hash(retry_key.encode()),
            refreshed_at_ms=now_ms,
            expires_at_ms=self._end_ms(row.created_at_ms, now_ms),
        )
        stored = await self._deps.rows.rotate(after)
        if stored is None:
            raise _ended(row)
        if stored.token_hash == after.token_hash:
            return await self._grant(stored, secret, mac)
        use = classify_use(stored, presented, retry_key)
        return await self._repeat_grant(use, stored, presented, retry_key, mac)

    async def _repeat_grant(
        self, use: TokenUse, row: Session, presented: PresentedToken, retry_key: str | None, mac: Mac
    ) -> TokenGrant:
        if use is TokenUse.RETRY and retry_key is not None:
            await self._check_active(row)
            return await self._grant(row, next_token(presented, retry_key, mac), mac)
        if has_valid_mac(presented, mac):
            record_security_event(
                SecurityEventKind.REFRESH_REUSED, tenant=row.tenant, user=row.user, subject=row.session
            )
            await self._end(row)
            raise credential_invalid()
        raise rejected_for("unknown refresh token", tenant=row.tenant, user=row.user, subject=row.session)

    async def _end_replaced(self, new: Session) -> None:
        """End the sessions that `new` replaces. A session that the index does not show yet ends with a later login."""
        now_ms = self._deps.clock.now_ms()
        listed = await self._deps.rows.list(new.tenant, new.user)
        live = [row for row in listed if row.epoch == new.epoch and now_ms < row.expires_at_ms]
        for row, reason in sessions_to_replace(new, live, self._max_count):
            # The device that logs in keeps its push registration.
            await self._end(row, is_signed_out=row.device.id != new.device.id)
            record_security_event(
                SecurityEventKind.SESSIONS_ENDED,
                tenant=row.tenant,
                user=row.user,
                subject=row.session,
                reason=reason,
            )

    def _end_ms(self, created_at_ms: int, now_ms: int) -> int:
        return min(now_ms + self._idle_ms, created_at_ms + self._max_ms)

    async def _check_active(self, row: Session) -> None:
        user = await self._deps.users.confirm(row.tenant, row.user)
        if user is None or not is_active(row, user, self._deps.clock.now_ms()):
            await self._end(row)
            raise _ended(row)

    async def _end(self, row: Session, *, is_signed_out: bool = True) -> None:
        await self._deps.rows.delete(row.tenant, row.session, row.user, self._deps.clock.now_ms())
        if is_signed_out:
            await self._deps.on_signed_out(row.tenant, row.user, row.device.id)

    async def _grant(self, row: Session, secret: bytes, mac: Mac) -> TokenGrant:
        access = self._deps.access
        # Tokens have whole seconds. Round down, so that the reported expiry is never too late.
        expires_at_ms = (self._deps.clock.now_ms() // 1000 + int(access.life_s)) * 1000
        principal = Principal(
            tenant=row.tenant,
            user=row.user,
            device=row.device.id,
            session=row.session,
            expires_at_ms=expires_at_ms,
        )
        return TokenGrant(
            session=row,
            refresh_token=Secret(format_token(row.tenant, row.session, secret, mac)),
            access_token=Secret(await access.mint(principal)),
            access_expires_at_ms=expires_at_ms,
        )


def _ended(row: Session) -> TidingsError:
    return rejected_for("the session has ended", tenant=row.tenant, user=row.user, subject=row.session)


def sessions_to_replace(
    new: Session, live: Sequence[Session], max_count: int
) -> Sequence[tuple[Session, str]]:
    """Return the sessions that a login ends, with the reason.

    Race: two concurrent logins list each other's sessions. Both use the same order, and a login ends only sessions
    that precede its own, so the two never end each other.
    """
    others = [row for row in live if row.session != new.session]
    same = [row for row in others if row.device.id == new.device.id and _begun(row) < _begun(new)]
    remaining = sorted([*(row for row in others if row not in same), new], key=_last_use)
    surplus = [row for row in remaining[:-max_count] if _last_use(row) < _last_use(new)]
    return [(row, "the device logged in again") for row in same] + [
        (row, "too many sessions") for row in surplus
    ]


def _begun(row: Session) -> tuple[int, SessionId]:
    return row.created_at_ms, row.session


def _last_use(row: Session) -> tuple[int, SessionId]:
    return row.refreshed_at_ms, row.session


def is_active(row: Session, user: User, now_ms: int) -> bool:
    is_current = row.epoch == user.sessions_epoch and now_ms < row.expires_at_ms
    return is_current and user.suspended_at_ms is None
