"""Which credentials were valid a moment ago, so that a flood of bad ones from the same address does not shut them out.

This only decides whether a credential is looked at; it is verified in full with every request.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable

_TTL_S = 60.0
_MAX_COUNT = 10_000


class RecentCredentials:
    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._until = OrderedDict[bytes, float]()

    def has(self, credential: str) -> bool:
        return self._until.get(_digest(credential), 0.0) > self._now_s()

    def add(self, credential: str) -> None:
        digest = _digest(credential)
        self._until[digest] = self._now_s() + _TTL_S
        self._until.move_to_end(digest)
        if len(self._until) > _MAX_COUNT:
            self._until.popitem(last=False)


def _digest(credential: str) -> bytes:
    return hashlib.blake2b(credential.encode(errors="replace"), digest_size=16).digest()
