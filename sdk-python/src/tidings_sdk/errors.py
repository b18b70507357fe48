"""The errors of the SDK.

All of them are subclasses of `TidingsError`:

- `RequestRefused`: the server refused a request; `code` has the reason.
  - `SendFailed`: the server refused a message of the outbox; it will never be in the log.
- `ClientStopped`: the client cannot continue; the messages of the outbox stay in the store.
  - `CredentialRefused`: the credential is invalid or revoked.
  - `ProtocolUnsupported`: the server does not support this client's protocol level.
  - `StoreOwnerMismatch`: the store belongs to another user.
- `SendUnconfirmed`: the client ended before the answer; the message stays in the store.
- `RequestTimeout`: a request outside the outbox received no answer; it may be repeated.
- `OutboxFull`: the outbox has its maximum number of messages.
- `StoreInUse`: another process has the store's file open.
"""

from tidings_wire.frames.structs import ErrorBody


class TidingsError(Exception):
    """Base class of all errors of this package."""


class RequestRefused(TidingsError):
    """The server refused a request. `code` is stable (see the error reference); the text is for people."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(f"{body.code}: {body.message}" + (f" {body.hint}" if body.hint else ""))
        self.code = body.code
        self.body = body


class SendFailed(RequestRefused):
    """The server refused a message. Final: the message was removed from the outbox and is not retried."""


class ClientStopped(TidingsError):
    """The client cannot continue. `close_code` is set if the server closed the connection permanently."""

    def __init__(self, why: str, close_code: int | None = None) -> None:
        super().__init__(why)
        self.close_code = close_code


class CredentialRefused(ClientStopped):
    """The credential is invalid or revoked. Another one is needed, or a new login."""


class ProtocolUnsupported(ClientStopped):
    """The server does not support this client's protocol level. Update the SDK."""


class StoreOwnerMismatch(ClientStopped):
    """The store belongs to another user. Its messages must not be sent as this user."""


class SendUnconfirmed(TidingsError):
    """Whether the message was committed is unknown. The next client with the same store retries it without a duplicate."""


class RequestTimeout(TidingsError):
    """The connection was lost or the answer was late. The effect of the request is unknown."""


class OutboxFull(TidingsError):
    """The outbox is full. Wait for messages in flight (`flush`), or show the user that sending is blocked."""


class StoreInUse(TidingsError):
    """Another process uses the store. Two clients with one outbox would send messages out of order."""
