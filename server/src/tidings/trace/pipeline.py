"""What followed the commit: published, handled, or why not. Pure."""

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
        words = "no longer known: the topic does not keep what is that old"
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
    """The mark tells. Without one only rows can: they are written before anything is pushed."""
    sequence, mark = found.entry.sequence, found.mark
    if mark is not None and mark >= sequence:
        return HandlingTrace(verdict=f"yes: the chat was handled up to {mark}", is_handled=True, mark=mark)
    if mark is not None:
        words = f"not yet: the chat was handled up to {mark}; {why_not_handled(found)}"
        return HandlingTrace(verdict=words, is_handled=False, mark=mark)
    if has_missing_recipient(found):
        return HandlingTrace(verdict=f"not yet: {why_not_handled(found)}", is_handled=False)
    reason = (
        found.redis or "Redis has no mark of this chat, it keeps one for three days and may have been emptied"
    )
    words = f"no longer known: {reason}. What follows from the rows: it is written for everybody looked at"
    return HandlingTrace(verdict=words, is_handled=None)


def why_not_handled(found: Evidence) -> str:
    topic = found.topic
    if topic is None:
        return f"what delivery has to do is not known: {found.kafka}"
    if topic.behind:
        return f"delivery is {topic.behind:,} events behind on partition {topic.partition}{_before(topic)}"
    if topic.event is not None:
        return (
            f"delivery has passed its event at offset {topic.event.offset} of partition {topic.partition}: "
            "see the topic `messages-dead` and the worker's log"
        )
    return (
        f"nobody has published it, and delivery is not behind on partition {topic.partition}: "
        "the relay publishes it some seconds after the commit, if one runs"
    )


def _before(topic: PartitionState) -> str:
    if topic.event is None or topic.event.offset < topic.committed:
        return ""
    return f", {topic.event.offset - topic.committed:,} of them before this one"


def has_missing_recipient(found: Evidence) -> bool:
    if found.is_large and not is_head_written(found):
        return True
    theirs = [p for p in found.users if p.membership is not None]
    seeing = [p for p in theirs if p.membership and may_see(p.membership.intervals, found.entry.sequence)]
    return any(not is_row_written(found, person) for person in seeing)


def is_row_written(found: Evidence, person: UserEvidence) -> bool:
    """In his own row; or, where members are too many for that, in the one row of the chat."""
    head = person.moved.row.known.head if person.moved else None
    if head is not None and head.sequence >= found.entry.sequence:
        return True
    return found.is_large and is_head_written(found)


def is_head_written(found: Evidence) -> bool:
    return found.head is not None and found.head >= found.entry.sequence
