"""The gateway and the token: from the file of `tidings dev` in this directory, or from the options."""

import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CLIENT: Final = Path(".tidings/dev/client.json")
TOKEN_VARIABLE: Final = "TIDINGS_TOKEN"  # noqa: S105 - the name of the variable

type Provider = Callable[[], Awaitable[str]]


class EndpointMissing(Exception):  # noqa: N818 - shown to people by this name
    """The gateway or the token is missing. The text says what to do."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    token: Provider
    """Called again when a token expires; `tidings dev` writes new ones in time."""
    api: str | None = None
    """The address of the REST API, for reports and `/search`."""


def from_dev(user: str, path: Path = CLIENT) -> Endpoint:
    dev_file = _read(path)
    users = dev_file.get("users", {})
    if user not in users:
        raise EndpointMissing(f"`tidings dev` has no user {user}. Choose one of {', '.join(users)}.")

    async def token() -> str:
        return str(_read(path)["users"][user]["token"])

    return Endpoint(str(dev_file["gateway"]), token, dev_file.get("api"))


def from_options(url: str, token_file: Path | None, api: str | None = None) -> Endpoint:
    """Read the token from a file or the environment. Every user of the machine can see arguments."""
    if token_file is None and not os.environ.get(TOKEN_VARIABLE):
        raise EndpointMissing(f"The token is missing. Set {TOKEN_VARIABLE}, or use --token-file FILE.")

    async def token() -> str:
        return _token(token_file)

    return Endpoint(url, token, api)


def _token(file: Path | None) -> str:
    """Return the token. The header files of `tidings dev` for curl are accepted too."""
    content = file.read_text() if file else os.environ[TOKEN_VARIABLE]
    return content.strip().removeprefix("Authorization: Bearer ")


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise EndpointMissing(
            "`tidings dev` does not run in this directory, or is not ready yet. Start it here in another terminal, "
            "or use --url ws://… (see --help)."
        ) from error
    return content
