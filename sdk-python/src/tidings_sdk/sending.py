"""What `chat.send` gives back: the message as it waits, and what becomes of it."""

import asyncio
from collections.abc import Generator
from typing import final

from tidings_sdk.events import Sent
from tidings_sdk.outbox import Request


@final
class Sending:
    """There at once, to be shown as pending. `await` it for `Sent`, or for an error that is final (`NotSent`).

    `Unsettled` means that the client ended first; the message stays in the store. Nobody has to await it.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.future: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        # an error that nobody asks for is told by an event too; the loop need not complain
        self.future.add_done_callback(lambda future: future.cancelled() or future.exception())

    @property
    def chat(self) -> str:
        return self.request.chat

    @property
    def client_message_id(self) -> str:
        return self.request.client_message_id

    @property
    def is_settled(self) -> bool:
        return self.future.done()

    def __await__(self) -> Generator[object, None, Sent]:
        # shielded: who gives up waiting does not take back the message
        return asyncio.shield(self.future).__await__()

    def settle(self, outcome: Sent | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Sent):
            self.future.set_result(outcome)
        else:
            self.future.set_exception(outcome)
