"""The chat list is updated by entries and watermarks."""

from hypothesis import given
from hypothesis import strategies as st

from tidings_sdk import ChatRow, Entry
from tidings_sdk.chat_list import ChatList
from tidings_wire.frames.history import MessageState


def message(sequence: int, by: str = "ben", text: str = "hi") -> Entry:
    return Entry(sequence=sequence, by=by, at=sequence, text=text)


def listed(**row: object) -> ChatList:
    chats = ChatList()
    chats.apply_row(ChatRow(chat="g1", **({"head": 10} | row)))  # type: ignore[arg-type]  # by name
    return chats


def row_of(chats: ChatList) -> ChatRow:
    row = chats.row("g1")
    assert row is not None
    return row


def test_a_message_of_another_user_raises_unread_and_sets_the_preview() -> None:
    chats = listed(unread=2, read=3, name="us")
    chats.apply_entries("g1", [message(11), message(12, text="see you")], "anna")
    row = row_of(chats)
    assert (row.unread, row.head, row.preview, row.by, row.at, row.name) == (
        4,
        12,
        "see you",
        "ben",
        12,
        "us",
    )


def test_the_preview_of_a_message_without_text_is_the_name_of_its_first_file() -> None:
    chats = listed()
    data = {"attachments": {"u1": {"name": "beach.jpg"}}}
    for sequence, files, described, shown in (
        (11, ("u1",), data, "📎 beach.jpg"),
        (12, ("u1", "u2"), data, "📎 beach.jpg +1"),
        (13, ("u1",), {"attachments": [1]}, "📎"),
    ):
        sent = Entry(sequence=sequence, by="ben", at=1, attachments=files, data=described)
        chats.apply_entries("g1", [sent], "anna")
        assert row_of(chats).preview == shown


def test_sending_a_message_marks_earlier_ones_as_read() -> None:
    chats = listed(unread=2)
    chats.apply_entries("g1", [message(11), message(12, by="anna"), message(13)], "anna")
    assert (row_of(chats).unread, row_of(chats).read) == (1, 12)


def test_a_late_row_does_not_move_the_read_position_below_the_users_own_message() -> None:
    chats = listed(read=3)
    chats.apply_entries("g1", [message(11, by="anna")], "anna")
    chats.apply_row(ChatRow(chat="g1", head=11, read=3))
    assert row_of(chats).read == 11
    assert not chats.read("g1", 11), "another device of the user reports what the message implies"


def test_messages_after_the_read_position_stay_unread() -> None:
    chats = listed(unread=2, read=8)
    chats.apply_entries("g1", [message(n) for n in range(11, 15)], "anna")
    assert chats.read("g1", 9)
    assert row_of(chats).unread == 6, "how many stand below the row's head is not known here"
    assert chats.read("g1", 12)
    assert row_of(chats).unread == 2
    assert not chats.read("g1", 11)
    assert chats.read("g1", 14)
    assert row_of(chats).unread == 0


def test_entries_up_to_the_head_of_the_row_are_not_counted_again() -> None:
    chats = listed(unread=3)
    chats.apply_entries("g1", [message(9), message(10)], "anna")
    assert row_of(chats).unread == 3


def test_edits_and_redactions_change_the_preview() -> None:
    chats = listed(preview="hi", last=10)
    chats.apply_entries("g1", [message(10)], "anna")
    edit = Entry(sequence=11, by="ben", at=11, kind="edit", refers_to=10, changed=MessageState(text="hello"))
    chats.apply_entries("g1", [edit], "anna")
    assert row_of(chats).preview == "hello"
    gone = Entry(
        sequence=12, by="ben", at=1, kind="redaction", refers_to=10, changed=MessageState(state="redacted")
    )
    chats.apply_entries("g1", [gone], "anna")
    row = row_of(chats)
    assert (row.preview, row.state, row.last, row.head) == (None, "redacted", 10, 12)
    chats.apply_entries("g1", [message(13, text="again")], "anna")
    assert (row_of(chats).preview, row_of(chats).state, row_of(chats).last) == ("again", "active", 13)


def test_a_row_that_came_without_its_entries_follows_a_redaction_of_its_message() -> None:
    chats = listed(preview="hi", by="ben", last=9)
    gone = MessageState(state="redacted")
    earlier = Entry(sequence=11, by="ben", at=11, kind="redaction", refers_to=8, changed=gone)
    chats.apply_entries("g1", [earlier], "anna")
    assert (row_of(chats).preview, row_of(chats).state) == ("hi", "active"), "another message was deleted"
    chats.apply_entries(
        "g1", [Entry(sequence=12, by="ben", at=12, kind="redaction", refers_to=9, changed=gone)], "anna"
    )
    assert (row_of(chats).preview, row_of(chats).state) == (None, "redacted")
    chats.apply_row(ChatRow(chat="g1", head=10, preview="hi", last=9, name="us"))
    assert (row_of(chats).preview, row_of(chats).state, row_of(chats).name) == (None, "redacted", "us")


def test_a_row_has_no_preview_of_an_expiring_or_deleted_message() -> None:
    chats = listed(preview="hi", last=10)
    chats.apply_entries("g1", [Entry(sequence=11, by="ben", at=11, text="secret", expires_at=99)], "anna")
    assert (row_of(chats).preview, row_of(chats).state) == (None, "ephemeral"), "as the server's rows do"
    chats.apply_entries("g1", [Entry(sequence=12, by="ben", at=12, state="redacted")], "anna")
    assert (row_of(chats).preview, row_of(chats).state) == (None, "redacted")


def test_a_late_row_does_not_undo_later_entries() -> None:
    chats = listed(head=10, unread=0)
    chats.apply_entries("g1", [message(11)], "anna")
    chats.apply_row(ChatRow(chat="g1", head=10, name="us", is_muted=True))
    row = row_of(chats)
    assert (row.head, row.unread, row.name, row.is_muted) == (11, 1, "us", True)


def test_a_row_is_created_from_the_entries_of_an_unknown_chat() -> None:
    chats = ChatList()
    create = Entry(sequence=1, by="ben", at=7, kind="create", name="us", users=("anna", "ben", "cleo"))
    made = chats.apply_entries("g1", [create], "anna")
    assert made is not None
    assert (made.name, made.members, made.unread) == ("us", ("ben", "cleo"), 0)
    assert chats.apply_entries("g1", [message(2)], "anna") is None
    join = Entry(sequence=8, by="ben", at=9, kind="join", users=("anna",))
    joined = chats.apply_entries("g2", [join], "anna")
    assert joined is not None
    assert (joined.name, joined.members) == (None, ("ben",)), "its name is not told by a join"
    chats.apply_entries("g2", [Entry(sequence=9, by="ben", at=9, kind="rename", name="them")], "anna")
    assert [row.name for row in chats.rows()] == ["them", "us"]


def test_leaving_a_chat_removes_its_row() -> None:
    chats = listed()
    chats.apply_entries("g1", [Entry(sequence=11, by="ben", at=1, kind="leave", users=("anna",))], "anna")
    assert chats.rows() == []


def test_pinned_come_first_then_the_newest() -> None:
    chats = ChatList([ChatRow(chat=name, head=1, at=at) for name, at in (("a", 1), ("b", 3), ("c", 2))])
    chats.apply_row(ChatRow(chat="a", head=1, at=1, is_pinned=True))
    assert [row.chat for row in chats.rows()] == ["a", "b", "c"]


STEPS = st.lists(st.tuples(st.sampled_from(["ben", "anna", "read", "join"]), st.integers(0, 5)), max_size=60)


@given(STEPS)
def test_unread_equals_the_messages_above_the_read_position(steps: list[tuple[str, int]]) -> None:
    """The list has all messages of a chat that was empty, so its count must be exact."""
    chats, log, read = listed(head=0), list[str](), 0
    for what, back in steps:
        if what == "read" and log:
            read = max(read, len(log) - back)
            chats.read("g1", read)
        elif what != "read":
            log.append(what)
            kind = "message" if what != "join" else "join"
            chats.apply_entries("g1", [Entry(sequence=len(log), by=what, at=1, kind=kind)], "anna")
        seen = max(read, *(n for n, by in enumerate(log, start=1) if by == "anna"), 0)
        wanted = sum(by == "ben" and n > seen for n, by in enumerate(log, start=1))
        assert (row_of(chats).unread, row_of(chats).read) == (wanted, seen)


def test_a_row_that_follows_a_join_gives_the_chat_its_name() -> None:
    chats = ChatList()
    join = Entry(sequence=9, by="ben", at=9, kind="join", users=("anna",))
    chats.apply_entries("g1", [join, message(10)], "anna")
    chats.apply_row(ChatRow(chat="g1", head=9, name="Lunch", members=("ben", "cleo")))
    row = chats.row("g1")
    assert row is not None
    assert (row.name, row.head, row.unread) == ("Lunch", 10, 1)
    assert row.members == ("ben", "cleo")
