"""What can become of a message, told apart because callers act differently.

PublishError
├── RefusedError          never given to Kafka: no room in time, or we are closing
├── RejectedError         the message itself was judged; it is not in the log and never will be
└── UnknownOutcomeError   in the log once or not at all; only reading the log tells

UndecodableError          (raised by a decoder or a handler) a record can't be understood: dead-letter it
"""

from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

if TYPE_CHECKING:
    from tidings.platform.kafka.records import Record


class PublishError(Exception):
    """A message has no acknowledgement. `retryable`: sending it again can help (and may repeat an `UnknownOutcomeError`)."""

    retryable = True


class NotAcceptedError(PublishError):
    """Not given to Kafka."""


class RejectedError(PublishError):
    """Not in the log, for certain; the same bytes would fail again."""

    retryable = False


class UnknownOutcomeError(PublishError):
    """Perhaps in the log, once, perhaps not."""


class UndecodableError(Exception):
    """A record can't be understood, now or later. A handler that raises it names the record."""

    def __init__(self, reason: str, record: "Record | None" = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.record = record


_ABOUT_THE_MESSAGE = frozenset(
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
    """Certain only if the message itself was judged.

    Everything else is unknown, even where it looks certain: a first try may have been written and its
    answer lost before the second one was refused for another reason. `_MSG_TIMED_OUT` and `_PURGE_QUEUE`
    were seen for messages that were in the log.
    """
    kind = RejectedError if error.code() in _ABOUT_THE_MESSAGE else UnknownOutcomeError
    return kind(error_text(error))


def is_fatal(error: KafkaError) -> bool:
    """The client that said so can't go on and must be made anew.

    `fatal()` alone is not enough: a consumer's fatal error comes as a message with the code alone.
    """
    return bool(error.fatal()) or error.code() == KafkaError._FATAL  # noqa: SLF001 - that is its public name


def error_text(error: KafkaError) -> str:
    return f"{error.str()} ({error.name()})"


def is_retryable(error: BaseException) -> bool:
    """Whether trying again can help: errors of the house say so by `retryable`."""
    return getattr(error, "retryable", False) is True
