"""DynamoDB: does it answer, does its clock agree with ours, are the tables as declared."""

import asyncio
import http.client
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from urllib.parse import urlsplit

from tidings.app.settings.model import DynamoSettings
from tidings.app.wiring import tables as standing
from tidings.app.wiring.accounts import open_tables
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.installation.epoch_watch import refuse_copied_installation
from tidings.installation.store import Installation, InstallationStore, RestorePhase
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.platform.dynamo.errors import DynamoError
from tidings.schema.tables.declaration import TABLES

_TIMEOUT_S = 5.0
_AWRY_S, _WRONG_S = 5.0, 60.0


def check_dynamo(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings.dynamo
    if settings.endpoint is None:
        yield _not_set()
        return
    try:
        began = monotonic()
        _, server = _knock(settings)
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
        "DynamoDB holds the truth: without it nothing is served.",
        '`tidings engines start`, or `tidings dev`; or set dynamo.endpoint to "aws" or to the URL of an engine.',
    )


def _unreachable(endpoint: str, reason: str) -> Finding:
    return Finding(
        "dynamo",
        CheckState.WRONG,
        f"{endpoint} does not answer: {reason}",
        "DynamoDB holds the truth: without it nothing is served.",
        "`tidings engines status` says whether it runs here; else look at dynamo.endpoint and the network.",
    )


def _knock(settings: DynamoSettings) -> tuple[datetime | None, str]:
    """Its time and its name, from the headers of any answer at all."""
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
    theirs, _ = _knock(context.loaded.settings.dynamo)
    if theirs is None:
        return skipped("clock", "DynamoDB's engine tells no time; Redis is asked too")
    return check_clock("DynamoDB", (context.clock.now() - theirs).total_seconds())


def check_clock(whose: str, ahead_s: float) -> Finding:
    if abs(ahead_s) < _AWRY_S:
        return ok("clock", f"agrees with {whose}'s")
    state = CheckState.WRONG if abs(ahead_s) >= _WRONG_S else CheckState.WARNING
    way = "ahead of" if ahead_s > 0 else "behind"
    return Finding(
        "clock",
        state,
        f"this machine is {abs(ahead_s):.0f} s {way} {whose}",
        "Tokens, leases and expiry are judged by it: tenants allow a minute, AWS refuses signatures after five.",
        "Let the system keep its time by NTP: `timedatectl set-ntp true`, or chrony.",
    )


def _tables(settings: DynamoSettings) -> Iterator[Finding]:
    try:
        plan = standing.load_tables_plan(settings)
    except TidingsError as error:
        yield Finding("tables", CheckState.WRONG, error.message, "They can't be looked at.", error.hint)
        return
    why, todo = "No process serves on tables that are missing or shaped otherwise.", "`tidings tables apply`."
    unfit = standing.serving_blockers(plan)
    if unfit:
        yield Finding(
            "tables", CheckState.WRONG, f"{len(unfit)} things are not as declared", why, todo, unfit
        )
    if other := [line for line in plan.drift if line not in unfit]:
        why = "They serve; this is money or safety: capacity, backups, protection from deletion."
        todo = "`tidings tables plan` shows what `tidings tables apply` would do."
        yield Finding("tables", CheckState.WARNING, f"{len(other)} things differ", why, todo, other)
    if not plan.drift:
        yield ok("tables", f"{len(TABLES)} as declared, with their TTLs and streams")


_CHECK = "epoch"


_WHY = "Devices hold sequences of messages that are gone. No process starts until they can be told so."


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
        return ok(_CHECK, "0: nothing has been started here yet")
    if found.phase is RestorePhase.CLOSED:
        todo = f"Run `tidings restore finish --to {found.restored_to}` to its end."
        return Finding(
            _CHECK, CheckState.WRONG, "a restore is being finished, or was interrupted", _WHY, todo
        )
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
