"""The mail server of `tidings dev`: it delivers nothing, prints each mail, and stores it as a file.

Understands as much of SMTP (RFC 5321) as a client needs to send a mail: no TLS, no login, no size limit but one.
"""

import asyncio
from contextlib import suppress
from email import message_from_bytes, policy
from itertools import count
from pathlib import Path

from tidings.dev.console import DevConsole

_MAX_LINE = 64 * 1024
_MAX_MAIL = 10 * 1024 * 1024
_END = b"."


class MailSink:
    def __init__(self, directory: Path, console: DevConsole) -> None:
        self._directory = directory
        self._console = console
        self._server: asyncio.Server | None = None
        self._numbers = count(1)

    async def open(self) -> int:
        """Start the server on a free port of this machine, and return the port. Mails of earlier runs are deleted."""
        self._directory.mkdir(parents=True, exist_ok=True)
        for path in self._directory.glob("*.eml"):
            path.unlink()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_MAX_LINE)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client that disconnects or sends too long a line has no right to more than the end of its connection.
        with suppress(ConnectionError, ValueError, asyncio.IncompleteReadError):
            await self._converse(reader, writer)
        writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        recipients: list[str] = []
        writer.write(b"220 tidings dev\r\n")
        while line := await reader.readline():
            command = line.strip().decode("latin-1")
            verb = command[:4].upper()
            match verb:
                case "RCPT":
                    recipients.append(command.partition(":")[2].strip("<> "))
                case "DATA":
                    writer.write(b"354 go ahead\r\n")
                    await writer.drain()
                    self._store(await _read_mail(reader), recipients)
                    recipients = []
                case "RSET" | "HELO" | "EHLO":
                    recipients = []
                case "QUIT":
                    writer.write(b"221 bye\r\n")
                    return
            known = verb in {"HELO", "EHLO", "MAIL", "RCPT", "DATA", "RSET", "NOOP"}
            writer.write(b"250 OK\r\n" if known else b"502 unknown command\r\n")
            await writer.drain()

    def _store(self, mail: bytes, recipients: list[str]) -> None:
        path = self._directory / f"{next(self._numbers):04d}.eml"
        # Readers wait for `*.eml`: a file with this name is complete.
        partial = path.with_suffix(".part")
        partial.write_bytes(mail)
        partial.rename(path)
        subject = message_from_bytes(mail, policy=policy.default)["Subject"]
        self._console.info(f"mail to {', '.join(recipients)}: {subject} ({path})")


async def _read_mail(reader: asyncio.StreamReader) -> bytes:
    """Read up to the line with a dot. A line that starts with a dot has one more (RFC 5321 section 4.5.2)."""
    lines: list[bytes] = []
    size = 0
    while (line := await reader.readline()).rstrip(b"\r\n") != _END:
        size += len(line)
        if not line or size > _MAX_MAIL:
            raise ConnectionError("the mail is incomplete or too large")
        lines.append(line.removeprefix(b"."))
    return b"".join(lines)
