"""Where to connect and as whom: what `tidings dev` has written in this directory, or what is given by hand."""

import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CLIENT: Final = Path(".tidings/dev/client.json")
TOKEN_VARIABLE: Final = "TIDINGS_TOKEN"  # noqa: S105 - the name of it

type Provider = Callable[[], Awaitable[str]]


class EndpointMissing(Exception):  # noqa: N818 - said to a person as it stands
    """Says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    token: Provider
    """Asked again when the last one is over: `tidings dev` writes new ones in time."""


def from_dev(user: str, path: Path = CLIENT) -> Endpoint:
    told = _read(path)
    people = told.get("users", {})
    if user not in people:
        raise EndpointMissing(f"`tidings dev` has no {user} here; there are {', '.join(people)}.")

    async def token() -> str:
        return str(_read(path)["users"][user]["token"])

    return Endpoint(str(told["gateway"]), token)


def from_options(url: str, token_file: Path | None) -> Endpoint:
    """The token out of a file or of the environment: arguments are seen by everybody on the machine."""
    if token_file is None and not os.environ.get(TOKEN_VARIABLE):
        raise EndpointMissing(
            f"Which token? Put it into {TOKEN_VARIABLE}, or into a file: --token-file FILE."
        )

    async def token() -> str:
        return _token(token_file)

    return Endpoint(url, token)


def _token(file: Path | None) -> str:
    """A header file, as `tidings dev` writes them for curl, is as good."""
    found = file.read_text() if file else os.environ[TOKEN_VARIABLE]
    return found.strip().removeprefix("Authorization: Bearer ")


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise EndpointMissing(
            "`tidings dev` does not run in this directory, or is not ready yet. Start it in another terminal, "
            "here; or say where to go: --url ws://… (see --help)."
        ) from error
    return found
