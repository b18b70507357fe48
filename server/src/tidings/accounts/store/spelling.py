"""What the rows of accounts have in common: times as text, and what a store that fails is called."""

from datetime import UTC, datetime
from typing import NoReturn

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.errors import DynamoError


def time_text(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z"


def time_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def unavailable(error: DynamoError) -> NoReturn:
    if error.maybe_applied:
        raise TidingsError(Code.OUTCOME_UNKNOWN, f"The store did not answer in time: {error}") from error
    if error.transient:
        raise TidingsError(Code.OVERLOADED, f"The store refused for now: {error}") from error
    raise error
