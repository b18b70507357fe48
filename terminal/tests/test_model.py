"""The model applies events: connection, number of missed messages, titles."""

from tidings_sdk import ChatRow, ConnectionStateChanged, Entry, InstallationRestored, MessageAdded, State
from tidings_terminal.model import ScreenModel, partner, partners


def moved(model: ScreenModel, *states: State, now: float = 0.0) -> None:
    for state in states:
        model.apply(ConnectionStateChanged(state), "anna", now)


def message(n: int, by: str = "ben") -> MessageAdded:
    return MessageAdded("g1", Entry(sequence=n, by=by, at=1, text="hi"))


def test_messages_between_resuming_and_live_count_as_missed() -> None:
    model = ScreenModel()
    moved(model, State.CONNECTING, State.RESUMING)
    model.apply(message(1), "anna", 0.0)
    moved(model, State.LIVE)
    assert model.hint == "", "the first connection has missed nothing"
    moved(model, State.CLOSED, State.CONNECTING, State.RESUMING)
    for n, by in ((2, "ben"), (3, "anna"), (4, "cleo")):
        model.apply(message(n, by), "anna", 0.0)
    moved(model, State.LIVE, now=10.0)
    assert model.hint == "caught up: 2 messages"
    model.on_timer(13.0)
    assert model.hint
    model.on_timer(17.0)
    assert model.hint == ""
    moved(model, State.CLOSED, State.RESUMING, State.LIVE)
    assert model.hint == "back, nothing was missed"


def test_the_time_to_the_next_try_counts_down() -> None:
    model = ScreenModel()
    model.apply(ConnectionStateChanged(State.CLOSED, 5.0), "anna", 100.0)
    assert model.connection(102.0).endswith("next try in 3 s")
    moved(model, State.CONNECTING)
    assert model.connection(103.0) == "◌ connecting"


def test_a_restore_clears_the_transcripts() -> None:
    model = ScreenModel()
    model.thread("g1").waits("k", "hi")
    model.apply(InstallationRestored(1), "anna", 0.0)
    assert model.threads == {}


def test_a_title_is_the_name_the_members_or_the_last_sender() -> None:
    model = ScreenModel()
    assert model.title(ChatRow(chat="g1", head=1, name="us\x1b[2J"), "anna") == "us[2J"
    assert model.title(ChatRow(chat="d1", head=1, members=("ben",)), "anna") == "ben"
    assert model.title(ChatRow(chat="g2", head=1, members=("ben", "cleo")), "anna") == "ben, cleo"
    assert model.title(ChatRow(chat="d2", head=1), "anna") == "d2"
    assert model.title(ChatRow(chat="d2", head=2, by="dora"), "anna") == "dora"
    assert model.title(ChatRow(chat="d2", head=3, by="anna"), "anna") == "dora"


def test_partners_are_of_direct_chats() -> None:
    rows = [
        ChatRow(chat="d1", head=1, members=("ben",)),
        ChatRow(chat="g1", head=1, name="us", members=("cleo",)),
        ChatRow(chat="g2", head=1, members=("dora", "emil")),
    ]
    assert partners(rows) == {"ben"}
    assert [partner(row) for row in rows] == ["ben", None, None]
