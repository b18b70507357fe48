"""The installation's epoch: which it is, and whether a restore was left unfinished."""

import asyncio
from collections.abc import Iterator

from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.platform.dynamo.errors import DynamoError
from tidings.run.accounts import open_tables
from tidings.run.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.run.installation.row import Installation, InstallationStore, RestorePhase
from tidings.run.installation.watch import refuse_copied_installation
from tidings.run.settings.model import DynamoSettings

_CHECK = "epoch"
_TIMEOUT_S = 5.0
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
        todo = f"Run `tidings restored --to {found.restored_to}` to its end."
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
