"""What can go wrong, as a tree:

TidingsError
├── RequestRefused          the server said no, for good; `code` says why
│   └── SendFailed          the same of something in the outbox: it is not in the log and will not be
├── ClientStopped           the client has stopped, and says why; nothing in the outbox is lost
│   ├── CredentialRefused
│   ├── ProtocolUnsupported
│   └── StoreOwnerMismatch  the store holds the outbox of somebody else
├── SendUnconfirmed         the client ended before an answer came; the row stays in the store
├── RequestTimeout          a request (not of the outbox) was cut off; it may be asked again
├── OutboxFull              as many messages wait as the outbox may hold
└── StoreInUse              another process has the file of the outbox open
"""

from tidings_wire.frames.structs import ErrorBody


class TidingsError(Exception):
    """Any error of this package."""


class RequestRefused(TidingsError):
    """`code` is stable, see the reference of errors; the text is for people."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(f"{body.code}: {body.message}" + (f" {body.hint}" if body.hint else ""))
        self.code = body.code
        self.body = body


class SendFailed(RequestRefused):
    """Final: the outbox has let go of it, and no later try of it is under way."""


class ClientStopped(TidingsError):
    """`close_code` is there if the server closed the connection for good."""

    def __init__(self, why: str, close_code: int | None = None) -> None:
        super().__init__(why)
        self.close_code = close_code


class CredentialRefused(ClientStopped):
    """Another credential is needed, or a login."""


class ProtocolUnsupported(ClientStopped):
    """The server no longer speaks this client's level of the protocol."""


class StoreOwnerMismatch(ClientStopped):
    """Sending one user's messages in another's name would be worse than not sending them."""


class SendUnconfirmed(TidingsError):
    """Sent or not is not known. The next client on the same store goes on with it, without doubling it."""


class RequestTimeout(TidingsError):
    """The connection went away, or the time was up."""


class OutboxFull(TidingsError):
    """Wait for what is under way, or show that nothing goes out."""


class StoreInUse(TidingsError):
    """Two clients on one outbox would send everything out of order."""
