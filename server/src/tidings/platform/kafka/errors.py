"""Errors of publishing, by whether the message is in the log, and of records that cannot be decoded.

- `NotAcceptedError`: not sent to Kafka, because the queue was full or the publisher is closing.
- `RejectedError`: the broker or client rejected the message itself. It is not in the log.
- `UnknownOutcomeError`: in the log once, or not at all. Only reading the log can show which.
- `UndecodableError`: raised by a decoder or handler for a record that belongs into the dead-letter topic.
"""

from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

if TYPE_CHECKING:
    from tidings.platform.kafka.records import Record


class PublishError(Exception):
    """A message was not acknowledged. `retryable`: a retry can help; after `UnknownOutcomeError` it may be a duplicate."""

    retryable = True


class NotAcceptedError(PublishError):
    """The message was not sent."""


class RejectedError(PublishError):
    """The message is not in the log, and the same bytes would be rejected again."""

    retryable = False


class UnknownOutcomeError(PublishError):
    """The message is in the log once, or not at all."""


class UndecodableError(Exception):
    """A record can never be processed. A handler that raises it passes the record."""

    def __init__(self, reason: str, record: "Record | None" = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.record = record


_MESSAGE_ERRORS = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_MSG_SIZE,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
)


def from_delivery(error: KafkaError) -> PublishError:
    """Return `RejectedError` if the message itself was rejected, else `UnknownOutcomeError`.

    Other errors are not certain, even where they seem to be: the first attempt may have been written and its answer
    lost, and the second refused for another reason. `_MSG_TIMED_OUT` and `_PURGE_QUEUE` were observed for messages
    that were in the log.
    """
    kind = RejectedError if error.code() in _MESSAGE_ERRORS else UnknownOutcomeError
    return kind(error_text(error))


def is_fatal(error: KafkaError) -> bool:
    """Return whether the client is unusable and must be replaced.

    `fatal()` is not enough: a consumer reports its fatal error as a message with only the code.
    """
    return bool(error.fatal()) or error.code() == KafkaError._FATAL  # noqa: SLF001 - its public name


def error_text(error: KafkaError) -> str:
    return f"{error.str()} ({error.name()})"


def is_retryable(error: BaseException) -> bool:
    """Return the attribute `retryable` of Tidings' own errors, and False for all others."""
    return getattr(error, "retryable", False) is True
