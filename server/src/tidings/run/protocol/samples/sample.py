"""One golden frame."""

from dataclasses import dataclass
from typing import Literal

type Direction = Literal["to_server", "to_device"]


@dataclass(frozen=True, slots=True)
class Sample:
    """`answers`: the kind of request that an `ok` is the answer to. `code`: the error that a bad frame is told."""

    name: str
    means: str
    data: bytes
    answers: str = ""
    code: str = ""


def sample(name: str, means: str, text: str, *, answers: str = "", code: str = "") -> Sample:
    return Sample(name, means, text.encode(), answers, code)
