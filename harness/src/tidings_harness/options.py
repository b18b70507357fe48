"""What the commands that try an installation have in common: their options, and what they say when it can't be tried."""

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

from tidings_harness.workload.target import SetupFailed, signer

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3_600}


class DurationParam(click.ParamType[float]):
    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if found is None:
            self.fail(f"{value!r} is not a time: 30s, 10m, 2h", param, ctx)
        return float(found[1]) * _UNITS_S[found[2]]


def _new_folder(_: click.Context, __: click.Parameter, folder: Path) -> Path:
    if folder.exists():
        raise click.BadParameter(f"'{folder}' is there already; a history goes into a new folder.")
    return folder


def installation_options[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """`--for`, `--report`, `--socket`, `--tenant`, `--key`."""
    options = (
        click.option(
            "--for",
            "for_s",
            type=DurationParam(),
            default="1m",
            show_default=True,
            help="How long: 30s, 10m, 2h.",
        ),
        click.option(
            "--report",
            type=click.Path(path_type=Path),
            callback=_new_folder,
            required=True,
            help="A new folder, for the history and the verdict.",
        ),
        click.option(
            "--socket",
            "sockets",
            multiple=True,
            required=True,
            help="Of a gateway, ws://…/v1/socket; several if you like.",
        ),
        click.option(
            "--tenant", required=True, help="One that is there for this: users are made in it, and stay."
        ),
        click.option(
            "--key",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            required=True,
            help="The tenant's private key, as `tidings tenant key new` prints it.",
        ),
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), command)


def token_options(tenant: str, key: Path) -> Callable[[str], str]:
    try:
        private: dict[str, Any] = json.loads(key.read_text())
        return signer(tenant, private)
    except (ValueError, KeyError, TypeError, AttributeError, JoseError) as fault:
        raise click.BadParameter(
            f"'{key}' has no private key as `tidings tenant key new` prints it.", param_hint="--key"
        ) from fault


class _SetupFailed(click.ClickException):
    exit_code = 2


@contextmanager
def friendly_errors(report: Path) -> Iterator[None]:
    """Until everybody is there. An installation that could not be tried has broken no promise: exit code 2, and a
    sentence; the folder is gone, because nothing of worth is in it.
    """
    report.mkdir(parents=True)
    try:
        yield
    except (httpx.HTTPError, SetupFailed, ConnectionError, TimeoutError) as fault:
        shutil.rmtree(report)
        raise _SetupFailed(f"The installation could not be tried: {_why(fault)}") from fault


def _why(fault: Exception) -> str:
    match fault:
        case httpx.HTTPStatusError():
            return f"{fault.request.url} answered {fault.response.status_code}: {fault.response.text}"
        case httpx.HTTPError():
            return f"{fault.request.url} could not be asked ({fault})."
    return str(fault) or "not everybody came to be connected in time."
