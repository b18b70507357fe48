"""Where `tidings dev` keeps what is its own, beside the engines' data; and that only one of it runs there.

`client.json` is for whoever connects, such as a chat in another terminal: it is there while everything is ready.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.kernel.errors import Code, TidingsError

_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class StateDir:
    home: Path
    """The engines' own directory, `.tidings`."""

    @property
    def dev(self) -> Path:
        return self.home / "dev"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def client(self) -> Path:
        return self.dev / "client.json"

    @property
    def keys(self) -> Path:
        """What stays over a stop, with the data: how tokens are signed, the server's API key."""
        return self.dev / "keys.json"

    def header(self, user: str) -> Path:
        """For `curl -H @…`: a token stays out of the terminal and of the shell's history."""
        return self.dev / f"{user}.header"

    @contextmanager
    def held(self) -> Iterator[None]:
        self.dev.mkdir(parents=True, exist_ok=True)
        with (self.dev / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.seek(0)
                raise self._taken(file.read().strip()) from error
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield
            file.truncate(0)

    def leave(self) -> None:
        """What is only true while it runs goes."""
        for path in (self.client, *self.dev.glob("*.header")):
            path.unlink(missing_ok=True)

    def delete(self) -> None:
        self.leave()
        self.keys.unlink(missing_ok=True)

    def _taken(self, pid: str) -> TidingsError:
        who = f" (process {pid})" if pid else ""
        at = read_json(self.client).get("api")
        return TidingsError(
            Code.ENGINES_BUSY,
            f"`tidings dev` runs in this directory already{who}" + (f"; the API is at {at}." if at else "."),
            hint=f"Go on with that one, or stop it: Ctrl-C there, or `kill {pid}`. "
            "For a second one beside it, take another directory.",
        )


def read_json(path: Path) -> dict[str, Any]:
    """Empty if there is none, or none that can be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
        file.write(text)
    fresh.replace(path)
