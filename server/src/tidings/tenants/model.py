"""A tenant's data keys: how they are named, and what stands of them in the table."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple, Self

KEY_BYTES = 32
MAX_VERSION = 2**32 - 1


class KeyKind(StrEnum):
    """`content` keys are replaced now and then, and the old ones kept to read with; there is one `fingerprint` key.

    `access` keys sign access tokens; one that was replaced is soon believed no longer.
    """

    CONTENT = "content"
    FINGERPRINT = "fingerprint"
    ACCESS = "access"


class KeyName(NamedTuple):
    """Versions are 1, 2, 3 …; the next one is put where nothing is yet, so that two who make it make one."""

    kind: KeyKind
    version: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.version:010}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for what a later Tidings may have put beside the keys that this one knows."""
        kind, _, version = text.partition("-")
        if kind not in KeyKind or not version.isdecimal() or not 0 < int(version) <= MAX_VERSION:
            return None
        return cls(KeyKind(kind), int(version))


FINGERPRINT = KeyName(KeyKind.FINGERPRINT, 1)
FIRST_CONTENT = KeyName(KeyKind.CONTENT, 1)


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key as the table holds it: of no use without the key service that wrapped it."""

    name: KeyName
    wrapped: bytes
    wrapped_by: str
    created_at_ms: int


class Generated(NamedTuple):
    """A new data key that nobody has seen yet. To use it, unwrap it: so a key in use is one that unwraps."""

    wrapped: bytes
    wrapped_by: str


type Purpose = Literal["c", "p"]
"""What was sealed: content or a preview. One is never taken for the other."""

CONTENT: Final = "c"
PREVIEW: Final = "p"
