"""Explain what happened after the commit: was the entry published and processed, and if not, why. Pure."""

from tidings.kernel.clock import format_ms
from tidings.messages.model import may_see
from tidings.trace.model import Evidence, HandlingTrace, PartitionState, PublishTrace, UserEvidence


def publish_status(found: Evidence) -> PublishTrace:
    topic = found.topic
    if topic is None:
        return PublishTrace(verdict=f"not known: {found.kafka}")
    event = topic.event
    at = None if event is None else format_ms(event.at_ms)
    if event is not None:
        words = f"at {at}, at offset {event.offset} of partition {topic.partition}"
    elif topic.searched is None:
        words = "no longer known: the message is older than the retention of the topic"
    else:
        words = f"not found among {topic.searched} events since its commit on partition {topic.partition}"
    return PublishTrace(
        verdict=words,
        at=at,
        partition=topic.partition,
        offset=None if event is None else event.offset,
        behind=topic.behind,
    )


def handling_status(found: Evidence) -> HandlingTrace:
    """Decide by the checkpoint. Without one, decide by the rows: they are written before the push."""
    mark = found.mark
    if mark is not None and mark >= found.entry.sequence:
        return HandlingTrace(verdict=f"yes: the chat was handled up to {mark}", is_handled=True, mark=mark)
    if mark is not None:
        words = f"not yet: the chat was handled up to {mark}; {why_not_handled(found)}"
        return HandlingTrace(verdict=words, is_handled=False, mark=mark)
    if has_missing_recipient(found):
        return HandlingTrace(verdict=f"not yet: {why_not_handled(found)}", is_handled=False)
    reason = (
        found.redis
        or "Redis has no checkpoint of this chat; it keeps one for three days, or has lost its data"
    )
    words = f"no longer known: {reason}. The rows of all recipients that were read include the message"
    return HandlingTrace(verdict=words, is_handled=None)


def why_not_handled(found: Evidence) -> str:
    topic = found.topic
    if topic is None:
        return f"the progress of delivery is not known: {found.kafka}"
    if topic.behind:
        return f"delivery is {topic.behind:,} events behind on partition {topic.partition}{_events_before(topic)}"
    if topic.event is not None:
        return (
            f"delivery has passed its event at offset {topic.event.offset} of partition {topic.partition}: "
            "see the topic `messages-dead` and the worker's log"
        )
    return (
        f"it was not published, and delivery is not behind on partition {topic.partition}: "
        "a running relay publishes it some seconds after the commit"
    )


def _events_before(topic: PartitionState) -> str:
    if topic.event is None or topic.event.offset < topic.committed:
        return ""
    return f", {topic.event.offset - topic.committed:,} of them before this one"


def has_missing_recipient(found: Evidence) -> bool:
    if found.is_group:
        return not is_head_written(found)
    return any(
        not is_row_written(found, person)
        for person in found.users
        if person.membership is not None and may_see(person.membership.intervals, found.entry.sequence)
    )


def is_row_written(found: Evidence, person: UserEvidence) -> bool:
    """Report whether the message is in the user's row, or in the head of their group."""
    if found.is_group:
        return is_head_written(found)
    head = person.moved.row.known.head if person.moved else None
    return head is not None and head.sequence >= found.entry.sequence


def is_head_written(found: Evidence) -> bool:
    return found.head is not None and found.head >= found.entry.sequence
