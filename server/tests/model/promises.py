"""The promises of sending, as predicates over a log and over the answers to clients."""

from enum import StrEnum

from model.log import CONFLICT, CONTRADICTED, HOLE, WRONGLY_REFUSED, Cast, Log


class Promise(StrEnum):
    DENSE = "the log is dense"
    UNCHANGED = "an entry never changes"
    ONE_PER_KEY = "one entry per idempotency key"
    FENCED = "no entry of a removed member after the removal"
    ORDINAL = "an ordinal is the number of messages up to its entry"
    ROW = "a row agrees with the log"
    MEMBERS = "a reader gets the membership that the log says"
    COMMITTED = "an ack means committed"
    KEPT = "an acknowledged sequence keeps its message"
    AGREED = "all tries of a message get the same answer"
    FINAL = "a message reported as failed never appears"
    NO_MEMBER = "only a non-member gets 'not a member'"
    CONFLICTING = "only an existing key gets 'same key, other content'"
    ANSWERED = "every request is answered"
    SILENT = "no message of a muted member while the mute holds"
    OUT = "no join of a banned user while the ban holds"
    CLOSED = "no join after the chat was closed or its link revoked"


def fault_of_log(cast: Cast, log: Log) -> Promise | None:
    """Return the promise that a log violates, independently of clients."""
    if HOLE in log:
        return Promise.DENSE
    entries = [cast.entries[stored] for stored in log]
    if len({entry.identity for entry in entries}) < len(entries):
        return Promise.ONE_PER_KEY
    for n, entry in enumerate(entries):
        if entry.needs_a_member and not cast.member_since(entry.user, enumerate(entries[:n], 1)):
            return Promise.FENCED
    return None


def fault_of_answer(cast: Cast, log: Log, number: int, reported: int) -> Promise | None:
    """Return the promise that an earlier answer to a client violates, given the current log."""
    if reported > 0:
        return fault_of_ack(log, number, reported)
    if reported == CONTRADICTED:
        return Promise.AGREED
    if reported == WRONGLY_REFUSED:
        return Promise.NO_MEMBER
    if reported == CONFLICT and not _has_the_key(cast, log, number):
        return Promise.CONFLICTING
    return Promise.FINAL if reported and number in log else None


def fault_of_ack(log: Log, number: int, sequence: int) -> Promise | None:
    if sequence > len(log) or log[sequence - 1] == HOLE:
        return Promise.COMMITTED
    return None if log[sequence - 1] == number else Promise.KEPT


def _has_the_key(cast: Cast, log: Log, number: int) -> bool:
    identity = cast.entries[number].identity
    return any(entry.identity == identity for _, entry in cast.numbered(log))


def fault_of_change(before: Log, after: Log) -> Promise | None:
    """Return `UNCHANGED` unless the log only grew at its end."""
    return None if before is after or after[: len(before)] == before else Promise.UNCHANGED
