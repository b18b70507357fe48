"""A transcript with pages, entries and answers in any order."""

from tidings_sdk import Entry, HistoryPage, Reaction
from tidings_terminal.transcript import Transcript
from tidings_wire.frames.history import MessageState


def entry(sequence: int, by: str = "ben", **more: object) -> Entry:
    return Entry(sequence=sequence, by=by, at=sequence, text=f"m{sequence}", **more)  # type: ignore[arg-type]  # by name


def page(*entries: Entry, has_older: bool = False) -> HistoryPage:
    return HistoryPage(after=0, up_to=9, entries=entries, has_older=has_older)


def texts(thread: Transcript) -> list[str]:
    return [message.text for message in thread.messages]


def test_entries_before_the_first_page_are_loaded_with_it() -> None:
    thread = Transcript("g1")
    thread.add_entries(entry(3))
    assert thread.messages == []
    thread.page(page(entry(3), entry(2), has_older=True))
    thread.add_entries(entry(4))
    assert (texts(thread), thread.oldest, thread.newest, thread.has_older) == (["m2", "m3", "m4"], 2, 4, True)


def test_older_pages_are_added_above_and_undo_no_changes() -> None:
    thread = Transcript("g1")
    thread.page(page(entry(5), has_older=True))
    thread.add_entries(
        Entry(
            sequence=6, by="ben", at=6, kind="edit", refers_to=5, changed=MessageState(text="x", edited_at=6)
        )
    )
    thread.page(page(entry(5), entry(4)))
    assert (texts(thread), thread.has_older) == (["m4", "x"], False)
    assert thread.messages[1].is_edited


def test_an_answer_and_the_entry_may_come_in_either_order() -> None:
    for is_answer_first in (True, False):
        thread = Transcript("g1")
        thread.page(page())
        thread.waits("k", "m1")
        if is_answer_first:
            thread.sent("k", 1)
            assert [(each.text, each.sequence) for each in thread.waiting] == [("m1", 1)]
            thread.add_entries(entry(1, "anna", client_message_id="k"))
        else:
            thread.add_entries(entry(1, "anna", client_message_id="k"))
            thread.sent("k", 1)
        assert (thread.waiting, texts(thread)) == ([], ["m1"])


def test_a_refused_message_stays_until_it_is_dismissed() -> None:
    thread = Transcript("g1")
    thread.waits("k", "no")
    thread.refused("k", "blocked")
    assert thread.waiting[0].refused == "blocked"
    thread.dismiss()
    assert thread.waiting == []


def test_a_redacted_message_has_no_content_and_cannot_be_changed() -> None:
    thread = Transcript("g1")
    thread.page(page(entry(1, "anna", reactions=(Reaction(emoji="👍", count=1),))))
    gone = MessageState(state="redacted", redacted_at=2)
    thread.add_entries(Entry(sequence=2, by="anna", at=2, kind="redaction", refers_to=1, changed=gone))
    (message,) = thread.messages
    assert (message.text, message.state, message.reactions, message.can_change) == ("", "redacted", (), False)
    assert thread.last_of("anna") is None


def test_a_change_of_an_unloaded_message_adds_no_line() -> None:
    thread = Transcript("g1")
    thread.page(page(entry(5), has_older=True))
    thread.add_entries(
        Entry(sequence=6, by="ben", at=6, kind="edit", refers_to=2, changed=MessageState(text="x"))
    )
    assert texts(thread) == ["m5"]


def test_a_transcript_has_a_maximum_size() -> None:
    thread = Transcript("g1")
    thread.page(page())
    for sequence in range(1, 3_000):
        thread.add_entries(entry(sequence))
    assert len(thread.messages) <= 2_000
    assert (thread.newest, thread.has_older) == (2_999, True)
