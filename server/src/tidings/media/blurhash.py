"""Encode a small image as a blurhash: a short text from which a client draws a blurred placeholder.

The format is that of https://blurha.sh: averages of cosine components, in base 83.
"""

import math
from collections.abc import Sequence

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
COLUMNS, ROWS = 4, 3
_LINEAR_BELOW, _SRGB_BELOW = 0.04045, 0.0031308

type Pixel = tuple[int, int, int]
type Component = tuple[float, float, float]


def encode_blurhash(pixels: Sequence[Pixel], width: int, height: int) -> str:
    """Return the blurhash of an image, row by row. Use few pixels: the cost is 12 passes."""
    linear = [tuple(_to_linear(channel) for channel in pixel) for pixel in pixels]
    parts = [_component(linear, width, height, x, y) for y in range(ROWS) for x in range(COLUMNS)]
    average, rest = parts[0], parts[1:]
    largest = max(abs(value) for part in rest for value in part)
    scale = max(0, min(82, math.floor(largest * 166 - 0.5)))
    text = _base83((COLUMNS - 1) + (ROWS - 1) * 9, 1) + _base83(scale, 1) + _base83(_average(average), 4)
    return text + "".join(_base83(_detail(part, (scale + 1) / 166), 2) for part in rest)


def _component(linear: Sequence[Sequence[float]], width: int, height: int, x: int, y: int) -> Component:
    across = [math.cos(math.pi * x * column / width) for column in range(width)]
    down = [math.cos(math.pi * y * row / height) for row in range(height)]
    sums = [0.0, 0.0, 0.0]
    for row in range(height):
        for column in range(width):
            basis, pixel = across[column] * down[row], linear[row * width + column]
            for channel in range(3):
                sums[channel] += basis * pixel[channel]
    scale = (1 if x == y == 0 else 2) / (width * height)
    return sums[0] * scale, sums[1] * scale, sums[2] * scale


def _to_linear(channel: int) -> float:
    value = channel / 255
    return value / 12.92 if value <= _LINEAR_BELOW else ((value + 0.055) / 1.055) ** 2.4


def _to_srgb(value: float) -> int:
    value = max(0.0, min(1.0, value))
    return round((value * 12.92 if value <= _SRGB_BELOW else 1.055 * value ** (1 / 2.4) - 0.055) * 255)


def _average(part: Component) -> int:
    red, green, blue = map(_to_srgb, part)
    return (red << 16) + (green << 8) + blue


def _detail(part: Component, largest: float) -> int:
    digits = 0
    for value in part:
        root = math.copysign(abs(value / largest) ** 0.5, value)
        digits = digits * 19 + max(0, min(18, math.floor(root * 9 + 9.5)))
    return digits


def _base83(value: int, length: int) -> str:
    return "".join(_DIGITS[value // 83**power % 83] for power in range(length - 1, -1, -1))
