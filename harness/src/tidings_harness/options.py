"""Options and errors that the commands which test an installation share."""

import functools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import httpx
from joserfc.errors import JoseError

from tidings_harness.workload.target import SetupFailed, TargetInstallation, signer

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3_600}


class DurationParam(click.ParamType[float]):
    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if found is None:
            self.fail(
                f"{value!r} is not a duration. Use a number with a unit, such as 30s, 10m or 2h", param, ctx
            )
        return float(found[1]) * _UNITS_S[found[2]]


def _new_folder(_: click.Context, __: click.Parameter, folder: Path) -> Path:
    if folder.exists():
        raise click.BadParameter(f"'{folder}' already exists. Choose a new folder for the history.")
    return folder


def installation_options[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """Add the options `--for`, `--report`, `--socket`, `--tenant` and `--key`."""
    options = (
        click.option(
            "--for",
            "for_s",
            type=DurationParam(),
            default="1m",
            show_default=True,
            help="Duration of the run, such as 30s, 10m or 2h.",
        ),
        click.option(
            "--report",
            type=click.Path(path_type=Path),
            callback=_new_folder,
            required=True,
            help="New folder for the history and the verdict.",
        ),
        click.option(
            "--socket",
            "sockets",
            multiple=True,
            required=True,
            help="URL of a gateway, ws://…/v1/socket. Can be repeated.",
        ),
        click.option(
            "--tenant",
            required=True,
            help="Tenant for the test. The run creates users in it and does not delete them.",
        ),
        click.option(
            "--key",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            required=True,
            help="File with the private key of the tenant, as printed by `tidings tenant key new`.",
        ),
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), command)


def target_installation(api: str, sockets: tuple[str, ...], tenant: str, key: Path) -> TargetInstallation:
    """Return the installation that the options name."""
    return TargetInstallation(
        api=api.rstrip("/"), sockets=list(sockets), steady_socket=sockets[0], token=_signer(tenant, key)
    )


def _signer(tenant: str, key: Path) -> Callable[[str], str]:
    try:
        private: dict[str, Any] = json.loads(key.read_text())
        return signer(tenant, private)
    except (ValueError, KeyError, TypeError, AttributeError, JoseError) as fault:
        raise click.BadParameter(
            f"'{key}' contains no private key as printed by `tidings tenant key new`.", param_hint="--key"
        ) from fault


class _SetupFailed(click.ClickException):
    exit_code = 2


@contextmanager
def friendly_errors(report: Path) -> Iterator[None]:
    """Enter the run and wait until all users are connected.

    If the installation cannot be tested, print the reason, delete the folder and exit with code 2: no guarantee was
    violated.
    """
    report.mkdir(parents=True)
    try:
        yield
    except (httpx.HTTPError, SetupFailed, ConnectionError, TimeoutError) as fault:
        shutil.rmtree(report)
        raise _SetupFailed(f"The installation could not be tested: {_why(fault)}") from fault


def _why(fault: Exception) -> str:
    match fault:
        case httpx.HTTPStatusError():
            return f"{fault.request.url} answered {fault.response.status_code}: {fault.response.text}"
        case httpx.HTTPError():
            return f"{fault.request.url} is not reachable ({fault})."
    return str(fault) or "not all users were connected in time."
