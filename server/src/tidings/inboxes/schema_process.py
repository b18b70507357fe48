"""The JSON Schema validator, and the helper process that runs it under CPU and memory limits."""

import asyncio
import contextlib
import os
import resource
import sys
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final
from weakref import WeakValueDictionary

import jsonschema_rs
import msgspec

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

MAX_PATTERN_BYTES: Final = 50_000
_PATTERN_SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, MAX_PATTERN_BYTES)
_MAX_ERRORS = 5


def is_valid(schema: bytes, message: Mapping[str, Any]) -> bool:
    return make_validator(schema).is_valid(message)


def schema_errors(schema: bytes, message: Mapping[str, Any]) -> list[str]:
    """Return the first errors. This can cost a thousand times more than `is_valid`: an error describes every branch."""
    errors = islice(make_validator(schema).iter_errors(message), _MAX_ERRORS)
    return [f"{'/'.join(map(str, each.instance_path)) or '.'}: {each.message}" for each in errors]


@lru_cache(maxsize=256)
def make_validator(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema. Raises `ValueError`; also for a pattern of more than `MAX_PATTERN_BYTES`.

    Patterns are matched in linear time; external references are not fetched.
    """
    return jsonschema_rs.Draft202012Validator(
        msgspec.json.decode(schema), pattern_options=_regex_options(MAX_PATTERN_BYTES), offline=True
    )


def pattern_bytes(pattern: str) -> int:
    """Return a bound of the compiled size of a pattern; 0 if it is invalid or has more than `MAX_PATTERN_BYTES`."""
    for size in _PATTERN_SIZES:
        with contextlib.suppress(ValueError):
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_regex_options(size))
            return size
    return 0


def _regex_options(max_bytes: int) -> jsonschema_rs.RegexOptions:
    return jsonschema_rs.RegexOptions(size_limit=max_bytes, dfa_size_limit=max_bytes)


DEADLINE_S: Final = 5.0
"""Includes the start of the process."""
_CPU_S = 5
_MEMORY_BYTES = 1024 * 1024 * 1024
_MAX_CONCURRENT = 2
_encode = msgspec.json.Encoder().encode


class SchemaProcess:
    """Runs at most one process per tenant and `_MAX_CONCURRENT` in total, so that a tenant delays itself first."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._tenants = WeakValueDictionary[TenantId, asyncio.Lock]()
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def errors(self, tenant: TenantId, schema: bytes, message: bytes) -> list[str]:
        """Return the errors of `message`. Raises `content_invalid` if the deadline passes first."""
        lock = self._tenants.setdefault(tenant, asyncio.Lock())
        async with lock, self._slots:
            return await self._check(_encode([msgspec.Raw(schema), msgspec.Raw(message)]))

    async def _check(self, request: bytes) -> list[str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tidings.inboxes.schema_process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(self._deadline_s):
                answer, _ = await process.communicate(request)
        except TimeoutError:
            raise _too_slow() from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if process.returncode != 0:
            raise _too_slow()  # it exceeded its CPU or memory limit
        return msgspec.json.decode(answer, type=list[str])


def _too_slow() -> TidingsError:
    return TidingsError(
        Code.CONTENT_INVALID,
        "The message could not be validated against the schema of its inbox within the limits of time and memory.",
        hint="Send a smaller message, or simplify the schema of the inbox.",
    )


def main() -> None:
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    schema, message = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[msgspec.Raw, Any])
    sys.stdout.buffer.write(_encode(schema_errors(bytes(schema), message)))


if __name__ == "__main__":
    main()
