"""What a failed call to the table `tenants` means to whoever asked."""

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.errors import DynamoError


def keys_read_error(error: DynamoError) -> TidingsError:
    return TidingsError(Code.KEYS_UNAVAILABLE, f"The table of the tenants' keys does not answer: {error}")


def keys_write_error(error: DynamoError) -> TidingsError:
    if error.maybe_applied:
        return TidingsError(Code.OUTCOME_UNKNOWN, f"The table of the tenants' keys did not answer: {error}")
    return keys_read_error(error)
