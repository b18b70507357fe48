"""`tidings run api | gateway | delivery | relay | notices`: a process in the foreground, until a signal ends it."""

import click

from tidings.run.settings import Settings
from tidings.run.settings.load import load


@click.group(name="run")
def group() -> None:
    """Run a process of Tidings in the foreground; SIGTERM or Ctrl-C ends it in order."""


def _settings() -> Settings:
    """Also makes the process what `testing.mutant` wants of it, before anything is composed."""
    settings = load().settings
    if settings.testing.mutant is not None:
        from tidings.run.mutants import activate_mutant  # noqa: PLC0415 - for tests alone

        activate_mutant(settings.testing.mutant)
    return settings


_processes = click.option(
    "--processes",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Number of processes that share the port.",
)


@group.command()
@_processes
def api(processes: int) -> None:
    """Run the REST API."""
    from tidings.run.api import BUILDS, run_api  # noqa: PLC0415 - half a second that `--help` need not wait
    from tidings.run.options import validate_settings  # noqa: PLC0415 - see above
    from tidings.run.processes import run_processes  # noqa: PLC0415 - see above

    settings = _settings()
    if processes == 1:
        run_api(settings)
    validate_settings(settings, BUILDS)
    raise click.exceptions.Exit(run_processes("api", processes, settings))


@group.command()
@_processes
def gateway(processes: int) -> None:
    """Run the WebSocket gateway."""
    from tidings.run.gateway import BUILDS, run_gateway  # noqa: PLC0415 - see above
    from tidings.run.options import validate_settings  # noqa: PLC0415 - see above
    from tidings.run.processes import run_processes  # noqa: PLC0415 - see above

    settings = _settings()
    if processes == 1:
        run_gateway(settings)
    validate_settings(settings, BUILDS)
    raise click.exceptions.Exit(run_processes("gateway", processes, settings))


@group.command()
def delivery() -> None:
    """Run a delivery worker.

    Workers update chat lists, push to gateways and keep what waits for offline users. Run as many as you need.
    """
    from tidings.run.delivery import run_delivery  # noqa: PLC0415 - see above

    run_delivery(_settings())


@group.command()
def relay() -> None:
    """Run the relay.

    It audits every commit and publishes again what was not handled. Any number may run.
    """
    from tidings.run.relay import run_relay  # noqa: PLC0415 - see above

    run_relay(_settings())


@group.command()
def notices() -> None:
    """Run a notices worker.

    Workers deliver notices to users. Run as many as you need.
    """
    from tidings.run.notices import run_notifications  # noqa: PLC0415 - see above

    run_notifications(_settings())
