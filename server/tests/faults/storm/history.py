"""What each sender did and heard, as lines that survive kill -9 of the sender."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

type Outcome = int | str
"""The sequence of an ack, or the code of a refusal for good."""


class SendOutcome(NamedTuple):
    """`outcome` None: this is a try that is about to be made. `after` None: the sender keeps no position."""

    user: str
    number: int
    after: int | None
    outcome: Outcome | None = None

    @property
    def key(self) -> str:
        return f"{self.user}-{self.number}"


class History:
    """Append-only; a line is in the kernel's hands before the thing it tells of is done."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)

    def tell(self, told: SendOutcome) -> None:
        self._file.write(json.dumps(told) + "\n")


def read(path: Path) -> Iterator[SendOutcome]:
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            yield SendOutcome(*json.loads(line))
        except ValueError:
            continue  # the line that a kill -9 cut short: its try was never made, or is told again
