"""Read the file of `tidings dev` with addresses, tokens and chats for programs on the same machine."""

import json
from pathlib import Path
from typing import Any, Final

CLIENT: Final = Path(".tidings/dev/client.json")


class NoDevServer(Exception):  # noqa: N818 - shown to people by this name
    """`tidings dev` does not run in this directory, or has no such user."""


def read_dev_file(path: Path = CLIENT) -> dict[str, Any]:
    """Read the file that `tidings dev` keeps while it is ready. Raises `NoDevServer`."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise NoDevServer(f"{path} cannot be read ({error}). Run `tidings dev` in this folder.") from error
    return found


def chat_id(name: str = "direct", path: Path = CLIENT) -> str:
    """Return the id of a demo chat: `direct` is the chat of anna and ben, `group` the chat of all three."""
    return str(read_dev_file(path)["chats"][name])
