"""Servers that break one rule each. The storm must catch every one of them, or it proves nothing."""

from collections.abc import Callable

from tidings.messages.model import Entry, SendKey
from tidings.messages.store import log
from tidings.messages.view import View


def puts_without_condition() -> None:
    log.ABSENT = "attribute_exists(chat_id) OR attribute_not_exists(chat_id)"


def forgets_keys() -> None:
    def find(self: View[object], key: SendKey) -> None:
        del self, key

    View.find = find  # type: ignore[method-assign, assignment]


def trusts_standings_for_ever() -> None:
    honest = View.apply

    def apply(self: View[object], entry: Entry) -> None:
        standings = dict(self.standings)
        honest(self, entry)
        self.standings.update(standings)

    View.apply = apply  # type: ignore[method-assign, assignment]


MUTANTS: dict[str, Callable[[], None]] = {
    mutant.__name__: mutant for mutant in (puts_without_condition, forgets_keys, trusts_standings_for_ever)
}
