"""Every rule of sending, with the mutants that break it and the promises that are then violated.

`STATED` has the sentences of the design. `MISSING` has rules that the design lacks and the models need.
"""

from dataclasses import dataclass
from enum import StrEnum

from model.batches import Mutant as Batching
from model.cases import (
    CATCH_UP,
    CHANGE,
    CONTENT,
    FENCE,
    FILL,
    INTERVALS,
    LEFT,
    LEFT_AND_BACK,
    MEMBERS,
    REMOVAL,
    RESTORE,
    RESTRICTED,
    RETURN,
    ROWS,
    SHAPE_CONTENT,
    THREE,
    Bounds,
)
from model.changes import Mutant as Changing
from model.checks import Mutant as Appending
from model.entry_shapes import Mutant as Shaping
from model.epochs import Mutant as Restoring
from model.gap_filling import Mutant as Filling
from model.promises import Promise
from model.restored_members import Mutant as Comparing
from model.restrictions import Mutant as Restricting
from model.watermark_raise import Mutant as Raising


@dataclass(frozen=True)
class Break:
    """A mutant: its behaviour instead of the rule, its model, and the promise that it violates first."""

    mutant: StrEnum
    bounds: Bounds
    falls: StrEnum

    @property
    def name(self) -> str:
        return f"{self.bounds.model}.{self.mutant.name}"


class Rule:
    def __init__(self, sentence: str, *breaks: Break) -> None:
        self.sentence = sentence
        self.breaks = breaks


STATED = (
    Rule(
        "Put the entry at `head + 1` on condition that no item exists there. (Two regions that write break this rule too: a condition holds within one region.)",
        Break(Appending.NO_CONDITION, REMOVAL, Promise.UNCHANGED),
    ),
    Rule(
        "A writer that appends at n + 1 has seen every entry up to n: a log view advances entry by entry.",
        Break(Appending.VIEW_JUMPS, REMOVAL, Promise.FINAL),
    ),
    Rule(
        "Joins, leaves, roles and blocks are entries of the same log …",
        Break(Appending.NOT_AN_ENTRY, REMOVAL, Promise.FENCED),
    ),
    Rule(
        "… each in one transaction with its row.",
        Break(Filling.ENTRY_THEN_ROW, FILL, Promise.FENCED),
        Break(Filling.ROW_THEN_ENTRY, FILL, Promise.NO_MEMBER),
    ),
    Rule(
        "A sender that is authorized as of n is authorized at n + 1, or the put fails.",
        Break(Appending.NO_RECHECK, REMOVAL, Promise.FENCED),
        Break(Filling.PASSES_UNSEEN, FILL, Promise.FENCED),
    ),
    Rule(
        "A send carries `after`; the SDKs store it before the first try and do not change it for a retry.",
        Break(Appending.AFTER_MOVES, REMOVAL, Promise.ONE_PER_KEY),
    ),
    Rule(
        "Check that no entry in `(after, n]` has the key, then put at n + 1.",
        Break(Appending.NO_DUPLICATE_CHECK, REMOVAL, Promise.ONE_PER_KEY),
        Break(Appending.RECENT_KEYS_ONLY, CONTENT, Promise.ONE_PER_KEY),
    ),
    Rule(
        "The duplicate check comes before the membership check.",
        Break(Appending.MEMBERSHIP_FIRST, REMOVAL, Promise.FINAL),
        Break(Shaping.NO_ROW, LEFT, Promise.FINAL),
    ),
    Rule(
        "`after` more than 1,000 entries below the head is refused with 'catch up first'.",
        Break(Raising.SHORT_SIGHT, CATCH_UP, Promise.ONE_PER_KEY),
    ),
    Rule(
        "A client may raise `after` over entries that it has received, if none of them has its key.",
        Break(Raising.UNSEEN, CATCH_UP, Promise.ONE_PER_KEY),
        Break(Raising.OVER_ITS_KEY, CATCH_UP, Promise.ONE_PER_KEY),
    ),
    Rule(
        "`after` above the head is refused.",
        Break(Raising.ABOVE_THE_HEAD, CATCH_UP, Promise.ONE_PER_KEY),
    ),
    Rule(
        "A sender without a position uses one transaction, entry and `idempotency_keys` row …",
        Break(Shaping.ROW_THEN_ENTRY, LEFT, Promise.COMMITTED),
        Break(Shaping.ENTRY_THEN_ROW, LEFT, Promise.ONE_PER_KEY),
    ),
    Rule(
        "… both if absent.",
        Break(Shaping.UNCONDITIONAL, LEFT, Promise.ONE_PER_KEY),
    ),
    Rule(
        "All tries of a message use the same form.",
        Break(Shaping.MIXED, LEFT, Promise.ONE_PER_KEY),
    ),
    Rule(
        "The same key with other content is a conflict.",
        Break(Appending.CONTENT_IGNORED, CONTENT, Promise.KEPT),
        Break(Shaping.KEY_ALONE, SHAPE_CONTENT, Promise.KEPT),
    ),
    Rule(
        "A repeat is compared with an immutable fingerprint, not with content that may have been edited.",
        Break(Appending.EDITED_CONTENT, CONTENT, Promise.FINAL),
    ),
    Rule(
        "Filling a view: strong Query for the head first, then strong GetItem for the sender.",
        Break(Filling.ROW_BEFORE_HEAD, FILL, Promise.FENCED),
        Break(Filling.OUTLIVES, FILL, Promise.FENCED),
        Break(Filling.WEAK_READ, FILL, Promise.FENCED),
    ),
    Rule(
        "The sender's row is valid only if no membership entry has passed the view since; otherwise read it again.",
        Break(Filling.KEPT, FILL, Promise.FENCED),
    ),
    Rule(
        "At most one append in flight per chat and process.",
        Break(Batching.TWO_IN_FLIGHT, THREE, Promise.DENSE),
    ),
    Rule(
        "A batch is one transaction of puts.",
        Break(Batching.SEPARATE_PUTS, THREE, Promise.DENSE),
    ),
    Rule(
        "Each entry is checked against the view and against the entries before it in its batch.",
        Break(Batching.UNCHECKED, THREE, Promise.ONE_PER_KEY),
    ),
    Rule(
        "`ordinal` is the previous entry's, plus one for a message.",
        Break(Batching.SAME_ORDINAL, THREE, Promise.ORDINAL),
    ),
    Rule(
        "An entry that writes a second item (join, leave, edit, a send without `after`) is never part of a batch.",
        Break(Batching.LEAVE_INSIDE, FENCE, Promise.FENCED),
    ),
    Rule(
        "A timeout is not an answer. Repeat the same bytes at the same sequence.",
        Break(Appending.ELSEWHERE, REMOVAL, Promise.ONE_PER_KEY),
    ),
    Rule(
        "A failed condition returns the entry at that sequence.",
        Break(Appending.KEY_WITHOUT_SENDER, REMOVAL, Promise.KEPT),
    ),
    Rule(
        "If that entry has the same sender and key, it is the answer.",
        Break(Appending.OWN_FOR_ANOTHERS, REMOVAL, Promise.ONE_PER_KEY),
        Break(Batching.FIRST_FOR_ALL, THREE, Promise.COMMITTED),
    ),
    Rule(
        "A conflict or a throttled request does not settle an earlier try that was not answered.",
        Break(Appending.THROTTLE_SETTLES, REMOVAL, Promise.FINAL),
    ),
    Rule(
        "A send is acknowledged only after its DynamoDB write.",
        Break(Appending.ACK_FIRST, REMOVAL, Promise.COMMITTED),
    ),
    Rule(
        "An edit, redaction or reaction changes its message's row in the same transaction.",
        Break(Changing.ROW_APART, CHANGE, Promise.ROW),
        Break(Changing.ANY_ROW, CHANGE, Promise.ROW),
    ),
    Rule(
        "At a restore or failover all processes stop …",
        Break(Restoring.NOT_STOPPED, RESTORE, Promise.DENSE),
    ),
    Rule(
        "… `idempotency_keys` are emptied …",
        Break(Restoring.ROWS_KEPT, ROWS, Promise.COMMITTED),
    ),
    Rule(
        "… and the epoch rises, which log views carry …",
        Break(Restoring.VIEW_WITHOUT_EPOCH, RESTORE, Promise.DENSE),
    ),
    Rule(
        "… and positions and `after`.",
        Break(Restoring.AFTER_WITHOUT_EPOCH, RESTORE, Promise.ONE_PER_KEY),
    ),
)

MISSING = (
    Rule(
        "Before a writer refuses, it reads the log up to the head, after the request and the row, and checks again.",
        Break(Filling.UNCONFIRMED, FILL, Promise.FINAL),
        Break(Changing.UNCONFIRMED, CHANGE, Promise.FINAL),
        Break(Shaping.UNCONFIRMED, LEFT_AND_BACK, Promise.NO_MEMBER),
    ),
    Rule(
        "A view below `after` is brought up to `after` before it decides anything.",
        Break(Appending.BELOW_AFTER, RETURN, Promise.NO_MEMBER),
    ),
    Rule(
        "With `after`, only a membership that began at or before `after` authorizes.",
        Break(Appending.BROKEN_MEMBERSHIP, RETURN, Promise.FINAL),
    ),
    Rule(
        "`after` is raised only within the membership interval of the first try.",
        Break(Raising.OUT_OF_ITS_INTERVAL, INTERVALS, Promise.FINAL),
    ),
    Rule(
        "Without `after`, the key's row is read after the view that refuses …",
        Break(Shaping.ROW_FIRST, LEFT, Promise.FINAL),
    ),
    Rule(
        "… and the refusal is stored in it.",
        Break(Shaping.UNWRITTEN, LEFT_AND_BACK, Promise.FINAL),
    ),
    Rule(
        "A resync leaves `after` unchanged, or lowers it to the head.",
        Break(Restoring.RESYNC_TO_HEAD, RESTORE, Promise.ONE_PER_KEY),
    ),
    Rule(
        "After a restore the idempotency rows are rebuilt from the log.",
        Break(Restoring.ROWS_EMPTIED, ROWS, Promise.ONE_PER_KEY),
    ),
    Rule(
        "After a restore, a reader compares the row of a member with the log: the row may be ahead of it …",
        Break(Comparing.ROW_TRUSTED, MEMBERS, Promise.MEMBERS),
        Break(Comparing.NOT_CUT, MEMBERS, Promise.MEMBERS),
        Break(Comparing.CUT_TO_HEAD, MEMBERS, Promise.MEMBERS),
    ),
    Rule(
        "… or behind it, or missing.",
        Break(Comparing.NOT_APPLIED, MEMBERS, Promise.MEMBERS),
        Break(Comparing.ADJACENT_KNOWN, MEMBERS, Promise.MEMBERS),
        Break(Comparing.MISSING_TRUSTED, MEMBERS, Promise.MEMBERS),
    ),
    Rule(
        "The result is written if the row is as it was read, and a change is written to a row of the present epoch only.",
        Break(Comparing.WRITTEN_ALWAYS, MEMBERS, Promise.ROW),
        Break(Comparing.CHANGED_ANYWAY, MEMBERS, Promise.MEMBERS),
    ),
    Rule(
        "Mutes and freezes are entries of the log, so a sender is checked again after one of them.",
        Break(Restricting.MUTE_IN_THE_ROW_ALONE, RESTRICTED, Promise.SILENT),
        Break(Restricting.NO_SECOND_CHECK, RESTRICTED, Promise.SILENT),
    ),
    Rule(
        "With `after`, a mute or freeze that ended after it still counts.",
        Break(Restricting.ENDS_FOR_EVERY_AFTER, RESTRICTED, Promise.FINAL),
    ),
    Rule(
        "An addition and a join commit on condition of the ban, the rule and the link that they read.",
        Break(Restricting.ADDS_WITHOUT_THE_BAN, RESTRICTED, Promise.OUT),
        Break(Restricting.JOINS_WITHOUT_THE_RULE, RESTRICTED, Promise.CLOSED),
    ),
)

BREAKS = tuple(one for rule in STATED + MISSING for one in rule.breaks)

NOT_MODELLED = (
    (
        "At another sequence the content is encrypted again.",
        "unit test of the encryption: the sequence is associated data",
    ),
    (
        "Repeat the *same bytes*.",
        "unit test of the store: a repeated transaction must be equal to be recognised",
    ),
    (
        "No edit, and no send without `after`, in a batch.",
        "contract test: DynamoDB refuses two writes to one item, and an existing row cancels every put",
    ),
    ("Unread = `last_ordinal` - max(`read_ordinal`, …), at least 0.", "property test: it is arithmetic"),
    ("Content is at most 4 KB.", "unit test"),
    ("Kafka and Redis are off the ack path.", "fault test: both down, sends are acknowledged"),
    ("The cost ledger.", "test of the access patterns' units"),
    ("`idempotency_keys` expire after seven days.", "left out: longer than any try"),
)
"""Rules about the encoding or the engines, which are tested there."""
