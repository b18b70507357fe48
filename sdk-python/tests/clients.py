"""Clients for tests."""

from typing import Any

from scripted_server import ScriptedServer

from tidings_sdk import Client, Timeouts


def client_of(
    server: ScriptedServer, *, token: Any = "anna", answer_within_s: float = 5, **more: Any
) -> Client:
    """Create a client that waits milliseconds instead of seconds."""
    patience = Timeouts(answer_within_s=answer_within_s, backoff_first_s=0.002, backoff_longest_s=0.02)
    return Client(server.url, token, proxy=None, patience=patience, **more)
