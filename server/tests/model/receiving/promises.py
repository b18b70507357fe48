"""The promises to a device, with the text that reports a violation."""

from enum import StrEnum


class Promise(StrEnum):
    NO_HOLE = "no entry is skipped within a connection"
    IN_ORDER = "no entry is repeated or out of order within a connection"
    ONCE = "a device accepts each entry once, in order"
    WITHIN = "no entry outside a member's intervals reaches a device"
    ARRIVED = "finally every device has every entry that it may see"
    READ = "no queue item stays while its user is connected"
    HANDLED = "finally every entry is processed"
    MARKED = "every entry covered by a checkpoint was processed"
    UNDISTURBED = "only the intended connection is closed and only its own route removed"
    PROVEN = "a head at n proves that the rows of all users named up to n are written"
    ROWS_RIGHT = "finally the head, and the rows of senders and named users, are right"
    SHOWN = "a chat list shows only messages that its user may see"
    COUNTED = "a chat list never counts more unread messages than there were"
    CURRENT = "a chat list shows no content that its head is past the redaction of"
    QUIET = "a quiet row is never behind its head"
    LEFT = "the row of a former member ends with the leave"
    FORWARD = "the position of a row never goes back"
