"""Check DynamoDB: does it answer, does its clock agree with this machine's, are the tables as declared."""

import asyncio
import http.client
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from urllib.parse import urlsplit

from tidings.app.settings.model import DynamoSettings
from tidings.app.wiring.engine_clients import open_tables
from tidings.app.wiring.schema import load_tables_plan, serving_blockers
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.installation.epoch_watch import refuse_copied_installation
from tidings.installation.store import Installation, InstallationStore, RestorePhase
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.platform.dynamo.errors import DynamoError
from tidings.schema.tables.declaration import TABLES

_TIMEOUT_S = 5.0
_WARNING_S, _WRONG_S = 5.0, 60.0


def check_dynamo(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings.dynamo
    if settings.endpoint is None:
        yield _not_set()
        return
    try:
        began = monotonic()
        _, server = _probe(settings)
        took_ms = (monotonic() - began) * 1000
    except (OSError, http.client.HTTPException) as error:
        yield _unreachable(settings.endpoint, str(error) or type(error).__name__)
        return
    yield ok("dynamo", f"{settings.endpoint} answers in {took_ms:.0f} ms{f' ({server})' if server else ''}")
    yield _clock(context)
    yield from _tables(settings)


def _not_set() -> Finding:
    return Finding(
        "dynamo",
        CheckState.WRONG,
        "dynamo.endpoint is not set",
        "DynamoDB stores all data: without it nothing is served.",
        '`tidings engines start`, or `tidings dev`; or set dynamo.endpoint to "aws" or to the URL of an engine.',
    )


def _unreachable(endpoint: str, reason: str) -> Finding:
    return Finding(
        "dynamo",
        CheckState.WRONG,
        f"{endpoint} does not answer: {reason}",
        "DynamoDB stores all data: without it nothing is served.",
        "`tidings engines status` shows whether it runs here; otherwise check dynamo.endpoint and the network.",
    )


def _probe(settings: DynamoSettings) -> tuple[datetime | None, str]:
    """Return the server's time and name, from the headers of any answer."""
    host = f"dynamodb.{settings.region}.amazonaws.com"
    url = urlsplit(f"https://{host}" if settings.endpoint == "aws" else settings.endpoint or "")
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        date = answer.headers["Date"]
        return parsedate_to_datetime(date) if date else None, answer.headers["Server"] or ""
    finally:
        connection.close()


def _clock(context: DoctorContext) -> Finding:
    theirs, _ = _probe(context.loaded.settings.dynamo)
    if theirs is None:
        return skipped("clock", "this engine returns no time; the check of Redis compares clocks too")
    return check_clock("DynamoDB", (context.clock.now() - theirs).total_seconds())


def check_clock(whose: str, ahead_s: float) -> Finding:
    if abs(ahead_s) < _WARNING_S:
        return ok("clock", f"agrees with {whose}'s")
    state = CheckState.WRONG if abs(ahead_s) >= _WRONG_S else CheckState.WARNING
    way = "ahead of" if ahead_s > 0 else "behind"
    return Finding(
        "clock",
        state,
        f"this machine is {abs(ahead_s):.0f} s {way} {whose}",
        "Tokens, leases and expiry depend on it: tenants accept a minute, AWS refuses signatures after five.",
        "Synchronize the clock with NTP: `timedatectl set-ntp true`, or chrony.",
    )


def _tables(settings: DynamoSettings) -> Iterator[Finding]:
    try:
        plan = load_tables_plan(settings)
    except TidingsError as error:
        yield Finding("tables", CheckState.WRONG, error.message, "They cannot be read.", error.hint)
        return
    why, todo = "No process serves if tables are missing or have other keys.", "`tidings tables apply`."
    unfit = serving_blockers(plan)
    if unfit:
        yield Finding(
            "tables", CheckState.WRONG, f"{len(unfit)} things are not as declared", why, todo, unfit
        )
    if other := [line for line in plan.drift if line not in unfit]:
        why = "The tables can be used; the differences affect cost or safety: capacity, backups, deletion protection."
        todo = "`tidings tables plan` shows what `tidings tables apply` would do."
        yield Finding("tables", CheckState.WARNING, f"{len(other)} things differ", why, todo, other)
    if not plan.drift:
        yield ok("tables", f"{len(TABLES)} as declared, with their TTLs and streams")


_CHECK = "epoch"


_WHY = "Devices have sequences of messages that no longer exist. No process starts until a new epoch tells them to resync."


def check_epoch(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings.dynamo
    if settings.endpoint is None:
        yield skipped(_CHECK, "needs DynamoDB")
        return
    try:
        found, log_id = asyncio.run(_read(settings, context.clock))
    except (DynamoError, TidingsError, OSError, TimeoutError):
        yield skipped(_CHECK, "needs tables that can be read")
        return
    yield check_installation(found, log_id)


def check_installation(found: Installation | None, log_id: str) -> Finding:
    if found is None:
        return ok(_CHECK, "0: no process has been started here yet")
    if found.phase is RestorePhase.CLOSED:
        todo = f"Run `tidings restore finish --to {found.restored_to}` until it has finished."
        return Finding(_CHECK, CheckState.WRONG, "a restore is in progress, or was interrupted", _WHY, todo)
    try:
        refuse_copied_installation(found, log_id)
    except TidingsError as error:
        return Finding(_CHECK, CheckState.WRONG, error.message, _WHY, error.hint)
    since = f"; restored to {found.restored_to}" if found.epoch else ""
    return ok(_CHECK, f"{found.epoch}{since}")


async def _read(settings: DynamoSettings, clock: Clock) -> tuple[Installation | None, str]:
    async with asyncio.timeout(_TIMEOUT_S), open_tables(settings) as client:
        row = InstallationStore(client, clock)
        return await row.read(), await row.log_id()
