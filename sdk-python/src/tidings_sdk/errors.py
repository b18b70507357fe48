"""What can go wrong, as a tree:

TidingsError
├── Refused          the server said no, for good; `code` says why
│   └── NotSent      the same of something in the outbox: it is not in the log and will not be
├── Stopped          the client has stopped, and says why; nothing in the outbox is lost
│   ├── CredentialRefused
│   ├── ClientTooOld
│   └── WrongStore   the store holds the outbox of somebody else
├── Unsettled        the client ended before an answer came; the row stays in the store
├── NotAnswered      a request (not of the outbox) was cut off; it may be asked again
├── OutboxFull       as many messages wait as the outbox may hold
└── StoreInUse       another process has the file of the outbox open
"""

from tidings_sdk.frames.shape import ErrorBody


class TidingsError(Exception):
    """Any error of this package."""


class Refused(TidingsError):
    """`code` is stable, see the reference of errors; the text is for people."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(f"{body.code}: {body.message}" + (f" {body.hint}" if body.hint else ""))
        self.code = body.code
        self.body = body


class NotSent(Refused):
    """Final: the outbox has let go of it, and no later try of it is under way."""


class Stopped(TidingsError):
    """`close_code` is there if the server closed the connection for good."""

    def __init__(self, why: str, close_code: int | None = None) -> None:
        super().__init__(why)
        self.close_code = close_code


class CredentialRefused(Stopped):
    """Another credential is needed, or a login."""


class ClientTooOld(Stopped):
    """The server no longer speaks this client's level of the protocol."""


class WrongStore(Stopped):
    """Sending one user's messages in another's name would be worse than not sending them."""


class Unsettled(TidingsError):
    """Sent or not is not known. The next client on the same store goes on with it, without doubling it."""


class NotAnswered(TidingsError):
    """The connection went away, or the time was up."""


class OutboxFull(TidingsError):
    """Wait for what is under way, or show that nothing goes out."""


class StoreInUse(TidingsError):
    """Two clients on one outbox would send everything out of order."""
