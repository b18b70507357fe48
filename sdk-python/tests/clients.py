"""Clients for tests."""

from scripted_server import ScriptedServer

from tidings_sdk import Client, Dialling
from tidings_sdk.stores.port import Store


def client_of(server: ScriptedServer, *, store: Store | None = None, **more: object) -> Client:
    """In a hurry: it waits milliseconds where others wait seconds."""
    dialling = Dialling(
        url=server.url,
        proxy=None,
        answer_within_s=float(more.pop("answer_within_s", 5)),  # type: ignore[arg-type]  # a number, given by a test
        backoff_first_s=0.002,
        backoff_longest_s=0.02,
    )
    token = more.pop("token", "anna")
    return Client(server.url, token, store=store, dialling=dialling, **more)  # type: ignore[arg-type]  # as it takes them
