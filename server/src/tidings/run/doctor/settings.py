"""The settings, as every process judges them before it opens anything."""

from collections.abc import Iterator

from tidings.kernel.errors import TidingsError
from tidings.run.doctor.model import Case, Finding, State, ok
from tidings.run.settings.load import FIELDS

WHY = "No process starts with settings that it can't use."
TODO = "`tidings config show` says what is set and where, `tidings config doc` what can be."


def faulty(error: TidingsError) -> Finding:
    """They can't even be read."""
    faults = error.details.get("faults")
    details = [str(fault) for fault in faults] if isinstance(faults, list) else [error.message]
    return Finding("settings", State.WRONG, "have faults", WHY, TODO, details)


def settings(case: Case) -> Iterator[Finding]:
    from tidings.run import api, gateway  # noqa: PLC0415 - slow to import
    from tidings.run.options import dynamo_endpoint, redis_options, refuse_faulty  # noqa: PLC0415 - as above

    # whether the engines are there is looked at by itself, in more words
    builds = {*api.BUILDS, *gateway.BUILDS} - {dynamo_endpoint, redis_options}
    try:
        refuse_faulty(case.loaded.settings, sorted(builds, key=lambda build: build.__name__))
    except TidingsError as error:
        yield faulty(error)
    else:
        yield ok("settings", f"{len(case.loaded.sources)} of {len(FIELDS)} given, the rest are defaults")
