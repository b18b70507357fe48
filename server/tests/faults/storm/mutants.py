"""Servers that break one rule each. The storm must catch every one of them, or it proves nothing."""

from collections.abc import Callable

from tidings.messages.log_view import LogView
from tidings.messages.model import Entry, IdempotencyKey
from tidings.messages.store import log


def puts_without_condition() -> None:
    log.ABSENT = "attribute_exists(chat_id) OR attribute_not_exists(chat_id)"


def forgets_keys() -> None:
    def find(self: LogView[object], key: IdempotencyKey) -> None:
        del self, key

    LogView.find = find  # type: ignore[method-assign, assignment]


def keeps_stale_statuses() -> None:
    honest = LogView.apply

    def apply(self: LogView[object], entry: Entry) -> None:
        statuses = dict(self.statuses)
        honest(self, entry)
        self.statuses.update(statuses)

    LogView.apply = apply  # type: ignore[method-assign, assignment]


MUTANTS: dict[str, Callable[[], None]] = {
    mutant.__name__: mutant for mutant in (puts_without_condition, forgets_keys, keeps_stale_statuses)
}
