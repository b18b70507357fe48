"""Who is speaking: the kind of process and this one run of it. In every log line, metric page and span."""

import os
import secrets
import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """`instance` is new at each start: a restarted process is another one, also on the same host and pid."""

    kind: str
    instance: str

    @classmethod
    def new(cls, kind: str) -> "ProcessIdentity":
        return cls(kind, f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}")
