"""Errors with a certain and with an unknown outcome."""

import pytest
from confluent_kafka import KafkaError

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.kafka.errors import (
    RejectedError,
    UnknownOutcomeError,
    from_delivery,
    is_fatal,
    is_retryable,
)


@pytest.mark.parametrize("code", [KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD])
def test_an_error_of_the_message_itself_is_certain(code: int) -> None:
    error = from_delivery(KafkaError(code))
    assert isinstance(error, RejectedError)
    assert not is_retryable(error)


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._FATAL,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    ],
)
def test_other_errors_have_an_unknown_outcome(code: int) -> None:
    error = from_delivery(KafkaError(code))
    assert isinstance(error, UnknownOutcomeError)
    assert is_retryable(error)


def test_a_fatal_error_is_known_by_its_flag_or_by_its_code() -> None:
    assert is_fatal(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "x", True))  # noqa: FBT003 - its own order
    assert is_fatal(KafkaError(KafkaError._FATAL))
    assert not is_fatal(KafkaError(KafkaError._TRANSPORT))


def test_a_tidings_error_states_whether_it_is_retryable() -> None:
    assert is_retryable(TidingsError(Code.ENGINE_UNREACHABLE, "away"))
    assert not is_retryable(TidingsError(Code.SETTINGS_INVALID, "wrong"))
    assert not is_retryable(ValueError("a defect"))
