"""Record administrative commands: in the audit log, and as a security event on stderr."""

import asyncio
import getpass
import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final, override

import click
import msgspec

from tidings.cli.output import echo
from tidings.kernel.errors import TidingsError
from tidings.kernel.security import FIELDS, LOGGER, OPERATOR, SecurityEventKind, record_security_event

READING: Final = frozenset(
    {
        *("show", "list", "plan", "check", "doc", "watch", "explain", "estimate"),
        *(
            "sessions",
            "find",
            "status",
            "chats",
            "proof",
            "readers",
            "deliveries",
            "queue",
            "erasure",
            "deletion",
        ),
        *("slack", "matrix"),  # conversions of files
    }
)
"""Names of commands that change nothing. Every other command of an administrative group is recorded."""
ADMINISTRATIVE: Final = frozenset(
    {
        *(
            "archive",
            "broadcast",
            "dead-letter",
            "import",
            "inbox",
            "job",
            "media",
            "push",
            "relay",
            "restore",
        ),
        *("retention", "search", "segment", "tables", "tenant", "topics", "user", "webhook"),
    }
)
_BEFORE_THE_LOG: Final = frozenset({"tables", "topics"})
"""Groups that create the installation. They run even if the audit log cannot be written yet."""
_TARGETS: Final = (
    "user",
    "session",
    "inbox",
    "notification",
    "broadcast",
    "job",
    "segment",
    "kid",
    "key",
    "chat",
    "chats",
    "letter",
    "endpoint",
)
"""Parameters that name what a command acts on. Other values are not recorded: they can be secrets."""
_AUDITED = "_tidings_audited"


class _Lines(logging.Handler):
    """Print one JSON object for each line, in the format of the processes' logs."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        line = {"time": at, "level": "info", "event": record.getMessage(), "process": "command"}
        fields: dict[str, object] = getattr(record, FIELDS, {})
        echo(msgspec.json.encode({**line, **fields}).decode(), err=True)


def is_recorded(path: tuple[str, ...]) -> bool:
    return path[0] in ADMINISTRATIVE and path[-1] not in READING


def record_commands(command: click.Command, path: tuple[str, ...]) -> None:
    """Wrap the administrative commands below `command`, so that each run is recorded. Safe to repeat."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            record_commands(each, (*path, name))
    elif is_recorded(path) and command.callback is not None and not hasattr(command.callback, _AUDITED):
        command.callback = _recorded(command.callback, path)


def _recorded(run: Callable[..., Any], path: tuple[str, ...]) -> Callable[..., Any]:
    @wraps(run)
    def recorded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any command
        context = click.get_current_context()
        _announce(path)
        with _audited(path, context.params, context.find_root().params.get("reason")):
            return run(*args, **kwargs)

    setattr(recorded, _AUDITED, True)
    return recorded


def _announce(path: tuple[str, ...]) -> None:
    """Log which administrative command runs and who runs it. Arguments are left out: they can be secrets."""
    logger = logging.getLogger(LOGGER)
    logger.handlers = [_Lines()]
    logger.setLevel(logging.INFO)
    OPERATOR.set(operating_system_user())
    record_security_event(SecurityEventKind.ADMIN_COMMAND, subject=" ".join(path))


def operating_system_user() -> str:
    """Return the name of the user who runs the command, or its number: a container may run as a user without a name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


@contextmanager
def _audited(path: tuple[str, ...], params: Mapping[str, Any], reason: str | None) -> Iterator[None]:
    """Run the block as an action of the audit log. The log is opened twice: a command has its own event loops."""
    from tidings.app.wiring.audit import open_audit_log  # noqa: PLC0415 - `--help` need not wait
    from tidings.audit.log import StartedAction  # noqa: PLC0415 - as above

    async def start() -> StartedAction:
        async with open_audit_log() as log:
            return await log.start(_action(path, params, reason))

    async def finish(started: StartedAction, error: BaseException | None) -> None:
        async with open_audit_log() as log:
            await log.finish(started, error)

    try:
        started = asyncio.run(start())
    except TidingsError as error:
        if path[0] not in _BEFORE_THE_LOG:
            raise
        echo(f"Not recorded in the audit log, which cannot be written yet: {error}", err=True)
        yield
        return
    try:
        with started.notes():
            yield
    except BaseException as error:
        asyncio.run(finish(started, _cause(error)))
        raise
    asyncio.run(finish(started, None))


def _cause(error: BaseException) -> BaseException | None:
    """Return None for an exit with code 0, which click raises as an exception."""
    return None if isinstance(error, click.exceptions.Exit) and error.exit_code == 0 else error


def _action(path: tuple[str, ...], params: Mapping[str, Any], reason: str | None) -> Any:  # noqa: ANN401 - imported late
    from tidings.audit.model import AdminAction, AuditSource  # noqa: PLC0415 - `--help` need not wait
    from tidings.kernel.ids import TenantId  # noqa: PLC0415 - as above
    from tidings.tenants.rules import is_tenant_id  # noqa: PLC0415 - as above

    tenant = str(params.get("tenant"))
    targets = [f"{name}/{_text(params[name])}" for name in _TARGETS if params.get(name)]
    actor = f"os:{operating_system_user()}@{socket.gethostname()}"
    return AdminAction(
        source=AuditSource.CLI,
        actor=actor,
        credential="cli",
        operation=" ".join(path),
        target="/".join(targets)[:512],
        tenant=TenantId(tenant) if "tenant" in params and is_tenant_id(tenant) else None,
        reason=reason,
    )


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
