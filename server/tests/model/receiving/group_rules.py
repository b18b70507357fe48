"""The rules of groups: one head, rows of senders and named users, and chat lists that combine the two."""

from model.mutants import Break, Rule
from model.receiving.cases import (
    BEHIND,
    BEHIND_LATE,
    GROWS,
    GROWS_ANOTHER,
    GROWS_JOIN,
    GROWS_LEAVE,
    LEAVES,
    LEAVES_WIPED,
    LIST_JOIN,
    LIST_LEAVE,
    LIST_OWN,
    LIST_REDACTION,
    QUIET,
    QUIET_LEAVE,
    QUIET_OWN,
    QUIET_RESTORE,
)
from model.receiving.group_device import Mutant as Heads
from model.receiving.lists import Mutant as Lists
from model.receiving.promises import Promise
from model.receiving.quiet import Mutant as Quiet
from model.receiving.restored_rows import Mutant as Restored

GROUP_RULES = (
    Rule(
        "Group: write the rows of named users and of senders, then one head, then look up routes.",
        Break(Heads.HEAD_BEFORE_ROWS, LEAVES, Promise.PROVEN),
        Break(Lists.HEAD_BEFORE_ROWS, LIST_LEAVE, Promise.SHOWN),
        Break(Lists.OWN_ROW_LATE, LIST_OWN, Promise.COUNTED),
        Break(Heads.LOOKUP_FIRST, LEAVES, Promise.ARRIVED),
    ),
    Rule(
        "A head that is further back than the run is not written: the worker starts at its sequence + 1.",
        Break(Lists.HEAD_JUMPS, LIST_LEAVE, Promise.SHOWN),
    ),
    Rule(
        "The preview is in the head's update, with its message's sequence and version.",
        Break(Lists.PREVIEW_APART, LIST_REDACTION, Promise.CURRENT),
        Break(Lists.PREVIEW_UNCOMPARED, LIST_REDACTION, Promise.CURRENT),
    ),
    Rule(
        "A worker that finds no checkpoint processes recent entries again.",
        Break(Heads.NO_LOOK_BACK, LEAVES_WIPED, Promise.ARRIVED),
    ),
    Rule(
        "The checkpoint follows the pushes.",
        Break(Heads.MARK_FIRST, LEAVES, Promise.ARRIVED),
    ),
    Rule(
        "An entry is pushed as of its own sequence: up to and including the one that makes the chat large by routes, later ones on the channel, …",
        Break(Heads.AS_OF_NOW, GROWS, Promise.ARRIVED),
        Break(Heads.GROWTH_ON_THE_CHANNEL, GROWS, Promise.ARRIVED),
    ),
    Rule(
        "… joins and leaves also by the routes of the users that they name.",
        Break(Heads.JOIN_ON_THE_CHANNEL, GROWS_JOIN, Promise.ARRIVED),
    ),
    Rule(
        "Register the route, then read rows and heads.",
        Break(Heads.READ_BEFORE_REGISTER, LEAVES, Promise.ARRIVED),
    ),
    Rule(
        "Subscribe where head or row says `large`, wait for the confirmation, and read these heads again.",
        Break(Heads.SUBSCRIBE_BY_ROW, GROWS, Promise.ARRIVED),
        Break(Heads.NO_SECOND_READ, GROWS, Promise.ARRIVED),
    ),
    Rule(
        "Intervals are read after the last read of the head.",
        Break(Heads.INTERVALS_FIRST, LEAVES, Promise.WITHIN),
    ),
    Rule(
        "A push that says `large` makes a member's device subscribe and read the head, even if it has the entry.",
        Break(Heads.GROWTH_UNHEARD, GROWS, Promise.ARRIVED),
        Break(Heads.GROWTH_OLD, GROWS_ANOTHER, Promise.ARRIVED),
        Break(Heads.NOT_READ_AGAIN, GROWS, Promise.ARRIVED),
    ),
    Rule(
        "A leave that the device already has still ends its subscription.",
        Break(Heads.LEAVE_OLD, GROWS_LEAVE, Promise.WITHIN),
    ),
    Rule(
        "A head's preview and ordinal are shown only with a row that was read strongly after that head.",
        Break(Lists.NO_SECOND_ROW, LIST_LEAVE, Promise.SHOWN),
        Break(Lists.WEAK_SECOND_ROW, LIST_LEAVE, Promise.SHOWN),
    ),
    Rule(
        "A user who left sees the numbers of their row and no preview of the head; a user who joined sees none from before.",
        Break(Lists.UNCLIPPED, LIST_LEAVE, Promise.SHOWN),
        Break(Lists.BEFORE_JOIN, LIST_JOIN, Promise.SHOWN),
    ),
    Rule(
        "If the last message is the user's own, unread is 0.",
        Break(Lists.SENDER_IGNORED, LIST_OWN, Promise.COUNTED),
    ),
    Rule(
        "A reader marks the head, on condition of the position that it read, before it copies the position into a row.",
        Break(Quiet.NO_MARK, QUIET, Promise.QUIET),
        Break(Quiet.MARK_LATE, QUIET, Promise.QUIET),
        Break(Quiet.MARK_ANY, QUIET, Promise.QUIET),
    ),
    Rule(
        "A position is not copied into a row that is further, or whose user has left.",
        Break(Quiet.COPY_ANY, QUIET_OWN, Promise.FORWARD),
        Break(Quiet.COPY_FORMER, QUIET_LEAVE, Promise.LEFT),
    ),
    Rule(
        "Before a worker raises a marked head, it raises the rows of all members to the end of its run, quiet or not.",
        Break(Quiet.MARK_IGNORED, QUIET, Promise.QUIET),
        Break(Quiet.ROWS_LATE, QUIET, Promise.QUIET),
        Break(Quiet.FIRST_OF_RUN, QUIET, Promise.QUIET),
        Break(Quiet.ONLY_QUIET, QUIET, Promise.QUIET),
    ),
    Rule(
        "A row that is written for its user's message, join or leave is not quiet any more.",
        Break(Quiet.NAMED_STAYS, QUIET_OWN, Promise.QUIET),
    ),
    Rule(
        "After a restore, no row is quiet.",
        Break(Quiet.OLD_EPOCH, QUIET_RESTORE, Promise.QUIET),
    ),
    Rule(
        "After a restore, a head of the old epoch is cut to the end of the old log …",
        Break(Restored.HEAD_TRUSTED, BEHIND, Promise.PROVEN),
        Break(Restored.HEAD_NOT_CUT, BEHIND, Promise.PROVEN),
        Break(Restored.HEAD_WRITTEN_ALWAYS, BEHIND, Promise.ROWS_RIGHT),
    ),
    Rule(
        "… after the rows of all users that the old log names are completed, …",
        Break(Restored.NOT_COMPLETED, BEHIND, Promise.PROVEN),
        Break(Restored.HEAD_FIRST, BEHIND, Promise.PROVEN),
        Break(Restored.SENDERS_OMITTED, BEHIND, Promise.PROVEN),
    ),
    Rule(
        "… whether they are missing, of the old epoch, or have only a watermark of the new one.",
        Break(Restored.MISSING_ONLY, BEHIND, Promise.PROVEN),
        Break(Restored.EXISTING_ONLY, BEHIND, Promise.PROVEN),
        Break(Restored.WATERMARK_TRUSTED, BEHIND, Promise.PROVEN),
    ),
    Rule(
        "Before a row of the old epoch is read or raised, it is cut to the end of the old log and completed.",
        Break(Restored.NOT_CUT, BEHIND, Promise.ROWS_RIGHT),
        Break(Restored.CUT_TO_HEAD, BEHIND, Promise.SHOWN),
        Break(Restored.NOT_ADDED, BEHIND, Promise.COUNTED),
        Break(Restored.RAISED_ANYWAY, BEHIND, Promise.ROWS_RIGHT),
    ),
    Rule(
        "A compared row is written if its position, join and leave are as they were read; otherwise it is read again.",
        Break(Restored.WRITTEN_ALWAYS, BEHIND, Promise.PROVEN),
        Break(Restored.INTERVAL_UNCHECKED, BEHIND_LATE, Promise.PROVEN),
        Break(Restored.NOT_REPEATED, BEHIND, Promise.PROVEN),
    ),
)
