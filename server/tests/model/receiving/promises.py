"""What is promised to a device, each with the words that a breach is told in."""

from enum import StrEnum


class Promise(StrEnum):
    NO_HOLE = "in a connection no entry is left out"
    IN_ORDER = "in a connection no entry comes again or late"
    ONCE = "a device takes an entry once, and in order"
    WITHIN = "nothing outside a member's intervals reaches a device"
    ARRIVED = "in the end every device holds every entry that it may see"
    READ = "nothing waits where nobody reads"
    HANDLED = "in the end every entry is handled"
    MARKED = "what is marked handled was handled"
    UNDISTURBED = "nobody ends a connection or takes its route but who is meant"
