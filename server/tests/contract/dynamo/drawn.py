"""Random values, the same in every run."""

from decimal import Decimal
from random import Random
from typing import Any

_TEXTS = ("", "plain", "Grüße", "世界", 'quo"te', "back\\slash", "line\nbreak", "\x00\x1f\x7f", "😀")


def drawn_item(random: Random, *, has_numbers: bool = True) -> dict[str, Any]:
    drawn = {f"v{n}": drawn_value(random) for n in range(random.randrange(6))}
    return {name: value for name, value in drawn.items() if has_numbers or not _has_number(value)}


def _has_number(value: Any) -> bool:
    match value:
        case bool():
            return False
        case int() | Decimal():
            return True
        case dict():
            return any(map(_has_number, value.values()))
        case list() | set():
            return any(map(_has_number, value))
        case _:
            return False


def drawn_value(random: Random, depth: int = 0) -> Any:
    kinds = [_text, _whole, _broken, _blob, _plain, _texts, _numbers, _blobs]
    if depth < 3:
        kinds += [_list, _map]
    return random.choice(kinds)(random, depth)


def _text(random: Random, _: int) -> str:
    return random.choice(_TEXTS) * random.choice((1, 1, 20))


def _whole(random: Random, _: int) -> int:
    return random.choice(
        (0, 1, -1, random.randint(-(10**38) + 1, 10**38 - 1), random.randrange(10**6) * 1000)
    )


def _broken(random: Random, _: int) -> Decimal:
    """boto3 cannot read a number of more than 38 digits, even if most of them are zeros at its end."""
    length = random.randint(1, 38)
    digits = random.randint(-(10**length) + 1, 10**length - 1)
    return Decimal(digits).scaleb(random.randint(-40, 38 - length))


def _blob(random: Random, _: int) -> bytes:
    return random.randbytes(random.choice((0, 1, 2, 3, 64)))


def _plain(random: Random, _: int) -> bool | None:
    return random.choice((True, False, None))


def _texts(random: Random, _: int) -> set[str]:
    return {f"{text}{random.randrange(9)}" for text in random.sample(_TEXTS, 3)}


def _numbers(random: Random, depth: int) -> set[int | Decimal]:
    return {_whole(random, depth), _broken(random, depth)}


def _blobs(random: Random, _: int) -> set[bytes]:
    return {random.randbytes(random.randint(1, 5)) for _ in range(3)}


def _list(random: Random, depth: int) -> list[Any]:
    return [drawn_value(random, depth + 1) for _ in range(random.randrange(4))]


def _map(random: Random, depth: int) -> dict[str, Any]:
    return {f"k{n}": drawn_value(random, depth + 1) for n in range(random.randrange(4))}
