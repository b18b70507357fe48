"""The directory of `tidings dev`: its keys and files for clients, next to the engines' data. One run at a time.

`client.json` is for clients, such as `tidings chat` in another terminal. It exists while everything is ready.
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
    def mail(self) -> Path:
        """Mails that the mail server of this run received."""
        return self.dev / "mail"

    @property
    def client(self) -> Path:
        return self.dev / "client.json"

    @property
    def keys(self) -> Path:
        """The keys that are kept with the data after a stop: the signing key and the server's API key."""
        return self.dev / "keys.json"

    def header(self, user: str) -> Path:
        """Return the file with the header for `curl -H @…`, so that no token appears in the shell's history."""
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
        """Delete the files that are valid only while it runs."""
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
            hint=f"Use that one, or stop it: Ctrl-C there, or `kill {pid}`. "
            "For a second one, use another directory.",
        )


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; an empty dict if it is missing or invalid."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically. Other users can never read it."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
        file.write(text)
    fresh.replace(path)
