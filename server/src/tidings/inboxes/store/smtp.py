"""Hand mails to a mail server by SMTP, over a few connections that are reused."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from tidings.inboxes.mail.model import MailAnswer, MailStage, OutgoingMail
from tidings.kernel.clock import Clock
from tidings.kernel.security import Secret

_MAX_IDLE_S = 5.0
"""A connection that was idle for longer is replaced: mail servers close idle connections, some after 10 seconds."""
_MAX_MAILS = 100
"""Mails of one connection. Servers limit them."""
_PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpOptions:
    """`is_tls`: TLS from the start. Otherwise STARTTLS is used if the server offers it, and required with a password."""

    host: str
    port: int
    is_tls: bool
    user: str | None = None
    password: Secret | None = None
    timeout_s: float = 30.0
    max_connections: int = 8

    @classmethod
    def from_url(cls, url: str, *, timeout_s: float = 30.0, max_connections: int = 8) -> "SmtpOptions":
        """Read `smtp://user:password@host:587` or `smtps://…`. Raises `ValueError`, without the password."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme not in _PORTS or not host or parts.path not in ("", "/"):
            raise ValueError("expected smtp://user:password@host:587, or smtps:// for TLS from the start")
        return cls(
            host=host,
            port=port or _PORTS[parts.scheme],
            is_tls=parts.scheme == "smtps",
            user=None if parts.username is None else unquote(parts.username),
            password=None if parts.password is None else Secret(unquote(parts.password)),
            timeout_s=timeout_s,
            max_connections=max_connections,
        )


@dataclass(slots=True)
class _Connection:
    client: SMTP
    used_at: float
    mails: int = 0


class SmtpTransport:
    """Belongs to one event loop. Close it with `close`."""

    def __init__(self, options: SmtpOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._idle: list[_Connection] = []
        self._slots = asyncio.Semaphore(options.max_connections)

    async def send(self, mail: OutgoingMail) -> MailAnswer:
        """Send one mail, in at most twice the timeout."""
        async with self._slots:
            connection = None
            try:
                async with asyncio.timeout(2 * self._options.timeout_s):
                    connection = await self._connection()
                    _, text = await connection.client.sendmail(mail.sender, [mail.recipient], mail.body)
            except (SMTPException, OSError, TimeoutError) as error:
                if connection is not None:
                    connection.client.close()
                return answer_of(error)
            connection.used_at = self._clock.monotonic()
            connection.mails += 1
            self._idle.append(connection)
            return MailAnswer(250, text, MailStage.CONTENT)

    async def probe(self) -> MailAnswer:
        """Connect, and log in if there is a password, without sending a mail."""
        try:
            async with asyncio.timeout(self._options.timeout_s):
                connection = await self._open()
                code, text = await connection.client.noop()
        except (SMTPException, OSError, TimeoutError) as error:
            return answer_of(error)
        await _quit(connection)
        return MailAnswer(code, text, MailStage.SERVER)

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await _quit(connection)

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            is_fresh = self._clock.monotonic() - connection.used_at < _MAX_IDLE_S
            if is_fresh and connection.mails < _MAX_MAILS and connection.client.is_connected:
                return connection
            connection.client.close()
        return await self._open()

    async def _open(self) -> _Connection:
        options = self._options
        client = SMTP(
            hostname=options.host,
            port=options.port,
            use_tls=options.is_tls,
            # None: if the server offers it. A password is never sent unencrypted.
            start_tls=True if options.password is not None and not options.is_tls else None,
            username=options.user,
            password=None if options.password is None else options.password.reveal(),
            timeout=options.timeout_s,
        )
        await client.connect()
        return _Connection(client, self._clock.monotonic())


async def _quit(connection: _Connection) -> None:
    with suppress(SMTPException, OSError, TimeoutError):
        await connection.client.quit()
    connection.client.close()


def answer_of(error: Exception) -> MailAnswer:
    """Return what an error says: which part of the request the server refused, and why."""
    if isinstance(error, SMTPRecipientsRefused) and error.recipients:
        error = error.recipients[0]
    if isinstance(error, SMTPRecipientRefused):
        return MailAnswer(error.code, error.message, MailStage.RECIPIENT)
    if isinstance(error, SMTPDataError):
        return MailAnswer(error.code, error.message, MailStage.CONTENT)
    if isinstance(error, SMTPResponseException):
        return MailAnswer(error.code, error.message, MailStage.SERVER)
    return MailAnswer(0, str(error) or type(error).__name__, MailStage.SERVER)
