"""A Lua script: a `.lua` file beside the code that uses it. Atomic on its node; not rolled back if it fails.

An error that a script returns starts with a word of its own, not with one of the server's (`errors.REJECTION_CODES`).
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files


@dataclass(frozen=True)
class Script:
    name: str
    source: str
    key_count: int
    """How many keys it takes, all of one slot. Everything else comes as ARGV."""
    is_read: bool = False
    """It only reads; the server holds it to that, so an unanswered run may be repeated."""

    @classmethod
    def load(cls, package: str, file: str, *, keys: int, is_read: bool = False) -> "Script":
        return cls(file, files(package).joinpath(file).read_text("utf-8"), keys, is_read)

    @cached_property
    def sha(self) -> str:
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    @property
    def by_hash(self) -> str:
        return "EVALSHA_RO" if self.is_read else "EVALSHA"

    @property
    def by_source(self) -> str:
        return "EVAL_RO" if self.is_read else "EVAL"
