"""Golden frames as files: every client, in whatever language, is run against them."""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from tidings.run.protocol import meaning
from tidings.run.protocol.samples.refused import REFUSED
from tidings.run.protocol.samples.requests import REQUESTS
from tidings.run.protocol.samples.sample import Direction, Sample
from tidings.run.protocol.samples.to_device import ANSWERS, PUSHES


def golden_files() -> dict[str, list[dict[str, Any]]]:
    """By file name. `text` is the frame to the byte; one that is no UTF-8 has `base64` instead."""
    return {
        "requests": [_to_server(one) for one in REQUESTS],
        "answers": list(_to_device(ANSWERS)),
        "pushes": list(_to_device(PUSHES)),
        "refused": [_to_server(one) for one in REFUSED],
    }


def _to_server(one: Sample) -> dict[str, Any]:
    return {**_head(one, "to_server"), "decoded": meaning.request_semantics(one.data)}


def _to_device(samples: Iterable[Sample]) -> Iterable[dict[str, Any]]:
    for one in samples:
        yield {**_head(one, "to_device"), "decoded": meaning.frame_semantics(one.data, one.answers)}


def _head(one: Sample, direction: Direction) -> dict[str, Any]:
    head: dict[str, Any] = {"name": one.name, "direction": direction, "means": one.means}
    try:
        return {**head, "text": one.data.decode()}
    except UnicodeDecodeError:
        return {**head, "base64": b64encode(one.data).decode()}
