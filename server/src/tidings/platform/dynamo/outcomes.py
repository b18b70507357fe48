"""What a failed call to the store means to whoever asked for it. What nobody foresaw is raised as it is."""

from typing import NoReturn

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.errors import DynamoError


def raise_read_error(error: DynamoError) -> NoReturn:
    if error.transient:
        raise TidingsError(Code.OVERLOADED, f"The store can't be read right now: {error}") from error
    raise error


def raise_write_error(error: DynamoError) -> NoReturn:
    """A throttle or a conflict does not settle an earlier try that was not answered."""
    if error.maybe_applied:
        raise TidingsError(
            Code.OUTCOME_UNKNOWN,
            "The store did not answer in time: it may have been written.",
            hint="Ask again with the same key; it will not be doubled.",
        ) from error
    if error.transient:
        raise TidingsError(
            Code.OVERLOADED, f"The store refused for now, nothing was written: {error}"
        ) from error
    raise error
