"""Log administrative commands and the operators who run them."""

import getpass
import logging
from datetime import UTC, datetime
from typing import Final, override

import click
import msgspec

from tidings.cli.output import echo
from tidings.kernel.security import FIELDS, LOGGER, OPERATOR, SecurityEventKind, record_security_event

_READING: Final = frozenset(
    {"show", "list", "plan", "check", "doc", "watch", "explain", "estimate", "sessions", "find", "status"}
)
_ADMINISTRATIVE: Final = frozenset(
    {"broadcast", "inbox", "job", "relay", "restore", "segment", "tables", "tenant", "topics", "user"}
)


class _Lines(logging.Handler):
    """Print one JSON object for each line, in the format of the processes' logs."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        line = {"time": at, "level": "info", "event": record.getMessage(), "process": "command"}
        fields: dict[str, object] = getattr(record, FIELDS, {})
        echo(msgspec.json.encode({**line, **fields}).decode(), err=True)


def announce(command: click.Command | None, words: list[str]) -> None:
    """Log which administrative command runs and who runs it. Arguments are left out: they can be secrets."""
    path = _path(command, words)
    if not path or path[0] not in _ADMINISTRATIVE or path[-1] in _READING or "--help" in words:
        return
    logger = logging.getLogger(LOGGER)
    logger.handlers = [_Lines()]
    logger.setLevel(logging.INFO)
    OPERATOR.set(getpass.getuser())
    record_security_event(SecurityEventKind.ADMIN_COMMAND, subject=" ".join(path))


def _path(command: click.Command | None, words: list[str]) -> list[str]:
    path = words[:1] if command is not None else []
    for word in words[1:]:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        command = command.commands[word]
        path.append(word)
    return path
