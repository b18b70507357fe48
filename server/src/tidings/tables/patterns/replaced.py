"""What the first data-model document asked for in one way and Tidings does in another, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Replacement:
    """`by` names the patterns that serve the row's purpose now."""

    asked_as: str
    by: tuple[str, ...]
    reason: str


REPLACEMENTS = (
    Replacement(
        "Allocate sequence",
        ("messages.append", "messages.append_batch", "messages.append_keyed", "counters.raise"),
        "A counter that is raised first leaves a hole when its process dies, and lets 6 be seen before 5. The "
        "log is the counter: a put at head + 1 if nothing is there. `chat_counters` follows the log.",
    ),
    Replacement(
        "Add member",
        ("chats.add_members", "chats.create", "chats.create_direct"),
        "A join takes a sequence in the log, in one transaction with its rows, so that who may see what is "
        "arithmetic and not timing.",
    ),
    Replacement(
        "Remove member",
        ("chats.remove_member",),
        "A row that is deleted forgets what its user was allowed to see. The interval is closed instead, in one "
        "transaction with the `leave` entry.",
    ),
    Replacement(
        "Check duplicate",
        ("idempotency.refuse",),
        "Read strongly. The duplicate check comes before the membership check; an eventual read that misses the "
        "key would answer `not a member` to the repeat of a message that was committed before its sender left.",
    ),
)
