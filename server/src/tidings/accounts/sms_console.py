"""Text messages on the terminal, for development. Whoever reads it can log in."""

import sys
from typing import TextIO

from tidings.accounts.records import Phone


class ConsoleSms:
    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    async def send(self, to: Phone, text: str, /) -> None:
        print(f"SMS to {to}: {text}", file=self._stream or sys.stderr, flush=True)
