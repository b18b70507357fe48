"""Random frames of a server about two chats and an inbox, for tests that compare SDKs."""

import random
from collections.abc import Callable
from typing import Any

type Step = list[Any]
type Frame = dict[str, Any]

CHATS = ("g1", "g2")
USERS = ("anna", "ben", "cleo")
MESSAGES = range(1, 13)


class RandomServer:
    """Write random frames about two chats: new entries, repeats, gaps, ranges, late rows, receipts, an inbox."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.logs: dict[str, list[Frame]] = {chat: [] for chat in CHATS}
        self.epoch = 0

    def steps(self) -> list[Step]:
        steps: list[Step] = [["welcome", "", 0]]
        if self.random.random() < 0.7:
            steps.append(["watch", "g1"])
        return [*steps, *(self.step() for _ in range(self.random.randint(5, 45)))]

    def step(self) -> Step:
        chat, dice = self.random.choice(CHATS), self.random
        name = dice.choices(
            ["entries", "row", "receipts", "typing", "inbox", "read", "state", "restore"],
            [45, 10, 13, 8, 6, 6, 10, 2],
        )[0]
        makers: dict[str, Callable[[str], Step]] = {
            "entries": self._entries,
            "row": lambda chat: ["frame", dice.choice([{"chat": self._row(chat)}, self._rows(chat)])],
            "receipts": lambda chat: ["frame", {"receipts": self._receipts(chat)}],
            "typing": self._typing,
            "inbox": lambda _: ["frame", self._inbox()],
            "read": lambda chat: ["read", chat, dice.randint(1, max(1, len(self.logs[chat])))],
            "state": lambda _: dice.choice([["live"], ["live"], ["closed"]]),
            "restore": lambda _: self._restore(),
        }
        return makers[name](chat)

    def _restore(self) -> Step:
        self.epoch += 1
        self.logs = {each: [] for each in CHATS}
        return ["welcome", "", self.epoch]

    def _typing(self, chat: str) -> Step:
        is_typing = {} if self.random.random() < 0.7 else {"is_typing": False}
        return ["frame", {"typing": {"chat": chat, "user": self.random.choice(USERS[1:])} | is_typing}]

    def _rows(self, chat: str) -> Frame:
        return {"chats": {"rows": [self._row(chat)]}}

    def _entries(self, chat: str) -> Step:
        """Push an entry or a range: mostly the next one, sometimes an old one or one after a gap."""
        log = self.logs[chat]
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            log.append(self._entry(chat))
        if self.random.random() < 0.6:
            at = len(log) if self.random.random() < 0.7 else self.random.randint(1, len(log))
            return ["frame", {"entry": self._pushed(log[at - 1]) | {"chat": chat}}]
        after = self.random.randint(0, len(log) - 1)
        entries = [entry for entry in log[after:] if self.random.random() < 0.9]
        return ["frame", {"entries": {"chat": chat, "after": after, "up_to": len(log), "entries": entries}}]

    def _entry(self, chat: str) -> Frame:
        log = self.logs[chat]
        sequence, by = len(log) + 1, self.random.choice(USERS)
        entry: Frame = {"sequence": sequence, "by": by, "at": self.random.randint(1, 9)}
        kinds = ["message"] * 6 + [
            "edit",
            "redaction",
            "reaction",
            "join",
            "leave",
            "rename",
            "create",
            "role",
            "later",
        ]
        match self.random.choice(kinds):
            case "message":
                text = self.random.choice(["hi", "", "👍" * 120, "see you"])
                expiry = {"expires_at": 99} if self.random.random() < 0.1 else {}
                return entry | {"text": text} | expiry
            case "edit" | "redaction" | "reaction" as kind:
                return entry | {"kind": kind, "refers_to": self.random.randint(1, sequence)}
            case "join" | "leave" | "create" | "role" as kind:
                users = self.random.sample(USERS, self.random.randint(0, 2))
                return entry | {"kind": kind, "users": users} | ({"name": "us"} if kind == "create" else {})
            case "rename":
                return entry | {"kind": "rename"} | ({"name": "them"} if self.random.random() < 0.8 else {})
            case kind:
                return entry | {"kind": kind}

    def _pushed(self, entry: Frame) -> Frame:
        """Return an entry as a push has it: a change has the current state of its message."""
        if "refers_to" not in entry:
            return entry
        states: list[Frame] = [
            {"text": "edited", "edited_at": 2},
            {"state": "redacted"},
            {"text": "x", "expires_at": 9},
        ]
        return entry | {"changed": self.random.choice(states)}

    def _row(self, chat: str) -> Frame:
        head = self.random.randint(0, len(self.logs[chat]))
        row: Frame = {
            "chat": chat,
            "head": head,
            "unread": self.random.randint(0, 4),
            "at": self.random.randint(1, 9),
        }
        row |= {"read": self.random.randint(0, head), "last": head, "preview": "row"}
        return row | ({"is_pinned": True} if self.random.random() < 0.3 else {"name": "row"})

    def _receipts(self, chat: str) -> Frame:
        head = max(1, len(self.logs[chat]))
        members = []
        for user in self.random.sample(USERS, self.random.randint(1, 3)):
            marks = self.random.sample(["delivered", "read", "since"], self.random.randint(0, 3))
            members.append({"user": user} | {mark: self.random.randint(1, head) for mark in marks})
        return {"chat": chat, "members": members} | (
            {"is_snapshot": True} if self.random.random() < 0.4 else {}
        )

    def _inbox(self) -> Frame:
        version, at = self.random.randint(1, 4), self.random.randint(1, 4)
        if self.random.random() < 0.3:
            return {"broadcast": {"inbox": "default", "up_to": version}}
        counts = {"inbox": "default", "version": version, "at": at, "unread": self.random.randint(0, 9)}
        return {"inbox": {"counts": counts | ({"categories": {"news": 1}} if at > 2 else {})}}


def position_steps(seed: int) -> list[Step]:
    dice, steps = random.Random(seed), list[Step]()
    for _ in range(30):
        after = dice.randint(0, 10)
        many: list[Step] = [["take", after, after + dice.randint(0, 4)]] * 6
        others: list[Step] = [["begin", after], ["committed", after], ["doubt"], ["abandon"], ["clear"]]
        steps.append(dice.choice([*many, *others]))
    return steps
