"""Check costly messages in a helper process, which ends at a deadline.

The validator is native code that holds the interpreter while it works and can't be interrupted: in a thread it would
stop the event loop as well. A process can be killed. It is started for one check, at low priority; few messages are
costly enough to need one.

    python -m tidings.notices.schema_helper < [schema, message]
"""

import asyncio
import contextlib
import os
import resource
import sys
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.notices.validation import schema_errors

DEADLINE_S: Final = 5.0
"""Includes the start of the process."""
_CPU_S = 5
_MEMORY_BYTES = 1024 * 1024 * 1024
_MAX_CONCURRENT = 2
_encode = msgspec.json.Encoder().encode


class SchemaProcess:
    """At most one process for each tenant, and few for all: a tenant waits for itself first."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._tenants = WeakValueDictionary[TenantId, asyncio.Lock]()
        self._places = asyncio.Semaphore(_MAX_CONCURRENT)

    async def faults(self, tenant: TenantId, schema: bytes, message: bytes) -> list[str]:
        """Return what is wrong with `message`. Raises `content_invalid` if the deadline passes first."""
        lock = self._tenants.setdefault(tenant, asyncio.Lock())
        async with lock, self._places:
            return await self._check(_encode([msgspec.Raw(schema), msgspec.Raw(message)]))

    async def _check(self, asked: bytes) -> list[str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tidings.notices.schema_helper"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(self._deadline_s):
                answer, _ = await process.communicate(asked)
        except TimeoutError:
            raise _too_slow() from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if process.returncode != 0:
            raise _too_slow()  # it met the bound of its CPU time or memory
        return msgspec.json.decode(answer, type=list[str])


def _too_slow() -> TidingsError:
    return TidingsError(
        Code.CONTENT_INVALID,
        "The message could not be checked against its inbox's schema in time.",
        hint="Send a smaller message, or give the inbox a simpler schema.",
    )


def main() -> None:
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    schema, message = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[msgspec.Raw, Any])
    sys.stdout.buffer.write(_encode(schema_errors(bytes(schema), message)))


if __name__ == "__main__":
    main()
