"""Make the AsyncAPI 3 document: one channel, its requests, answers and pushes, with the golden frames as examples."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tidings.wire.fields import PROTOCOL
from tidings.wire.frames.registry import PUSHES, REQUESTS, RequestKind
from tools.protocol import schema
from tools.protocol.samples.requests import REQUESTS as REQUEST_SAMPLES
from tools.protocol.samples.requests import Sample
from tools.protocol.samples.to_device import ANSWERS as ANSWER_SAMPLES
from tools.protocol.samples.to_device import PUSHES as PUSH_SAMPLES

_ABOUT = (
    "One WebSocket per device, text frames of JSON. Requests have an `id` and are answered by `ok` or `error` with the "
    "same id; frames without an id are pushes. The credential goes into the first frame, never into the address."
)


def asyncapi_document() -> dict[str, Any]:
    messages = _messages()
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tidings over WebSocket",
            "version": f"{PROTOCOL}.0.0",
            "description": _ABOUT,
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {"socket": _channel(messages)},
        "operations": {**_requests(), **_pushes()},
        "components": {"messages": messages, "schemas": schema.definitions("#/components/schemas/{name}")},
    }


def _channel(messages: Iterable[str]) -> dict[str, Any]:
    return {
        "address": "/v1/socket",
        "description": "Opened by a device; see the reference for the life of a connection and its close codes.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        "bindings": {"ws": {"method": "GET", "bindingVersion": "0.1.0"}},
    }


def _requests() -> dict[str, Any]:
    """Seen from the server, as AsyncAPI wants it: it receives a request and replies."""
    return {
        f"receive_{kind.name}": {
            "action": "receive",
            "channel": {"$ref": "#/channels/socket"},
            "summary": _summary(kind.body),
            "messages": [_of_channel(schema.request_name(kind))],
            "reply": {
                "channel": {"$ref": "#/channels/socket"},
                "messages": [_of_channel(schema.answer_name(kind)), _of_channel("errorAnswer")],
            },
        }
        for kind in REQUESTS
    }


def _pushes() -> dict[str, Any]:
    return {
        f"send_{kind.name}": {
            "action": "send",
            "channel": {"$ref": "#/channels/socket"},
            "summary": _summary(kind.body),
            "messages": [_of_channel(schema.push_name(kind))],
        }
        for kind in PUSHES
    }


def _messages() -> dict[str, Any]:
    named = {schema.request_name(k): _samples(REQUEST_SAMPLES, k.name) for k in REQUESTS}
    named |= {schema.answer_name(k): _answers(k) for k in REQUESTS}
    named |= {schema.push_name(k): _samples(PUSH_SAMPLES, k.name) for k in PUSHES}
    named["errorAnswer"] = [one for one in ANSWER_SAMPLES if not one.answers]
    return {name: _message(name, samples) for name, samples in named.items()}


def _message(name: str, samples: Iterable[Sample]) -> dict[str, Any]:
    message: dict[str, Any] = {"name": name, "payload": {"$ref": f"#/components/schemas/{name}"}}
    examples = [
        {"name": one.name, "summary": one.means, "payload": msgspec.json.decode(one.data)} for one in samples
    ]
    return {**message, "examples": examples} if examples else message


def _samples(samples: Iterable[Sample], kind: str) -> list[Sample]:
    return [one for one in samples if kind in msgspec.json.decode(one.data)]


def _answers(kind: RequestKind) -> list[Sample]:
    return [one for one in ANSWER_SAMPLES if one.answers == kind.name]


def _of_channel(name: str) -> dict[str, str]:
    return {"$ref": f"#/channels/socket/messages/{name}"}


def _summary(body: type) -> str:
    return (body.__doc__ or body.__name__).strip().splitlines()[0]
