"""What `chat.send` gives back: the message as it waits, and what becomes of it."""

import asyncio
from collections.abc import Generator
from typing import final

from tidings_sdk.events import MessageSent
from tidings_sdk.outbox import Request


@final
class QueuedSend:
    """There at once, to be shown as pending. `await` it for `MessageSent`, or for an error that is final (`SendFailed`).

    `SendUnconfirmed` means that the client ended first; the message stays in the store. Nobody has to await it.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.future: asyncio.Future[MessageSent] = asyncio.get_running_loop().create_future()
        # an error that nobody asks for is told by an event too; the loop need not complain
        self.future.add_done_callback(lambda future: future.cancelled() or future.exception())

    @property
    def chat(self) -> str:
        return self.request.chat

    @property
    def client_message_id(self) -> str:
        return self.request.client_message_id

    @property
    def is_done(self) -> bool:
        return self.future.done()

    def __await__(self) -> Generator[object, None, MessageSent]:
        # shielded: who gives up waiting does not take back the message
        return asyncio.shield(self.future).__await__()

    def finish(self, outcome: MessageSent | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, MessageSent):
            self.future.set_result(outcome)
        else:
            self.future.set_exception(outcome)
