"""Keys of messages: ULIDs, so that they sort by time in whoever's table they end up."""

import os
import time
from typing import Final

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_client_message_id() -> str:
    """48 bits of milliseconds and 80 of chance, in 26 signs."""
    number = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10))
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
