"""The cost of a request, from the metrics of the process that answered it: calls to DynamoDB by access pattern.

It is compared with the cost that the route declares, and with the kinds of calls that are allowed.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contract.telemetry.running import eventually
from e2e.conftest import Answer, Api
from fixtures.engines import Namespace

from tidings.platform.dynamo.operations import Operation
from tidings.schema.tables.patterns import REGISTRY

_PATHS = json.loads((Path(__file__).parents[3] / "protocol/openapi.json").read_text())["paths"]
_CALLS = re.compile(r'^tidings_dynamo_calls_total\{[^}]*pattern="([^"]+)"[^}]*\} (\S+)$', re.MULTILINE)
_CACHED = ("tenants.", "user_keys.", "leases.")
"""Patterns that are cached for the whole process: credentials, keys, the probe of the health page."""

READS = {Operation.GET_ITEM, Operation.QUERY, Operation.BATCH_GET_ITEM}


def recorded_cost(api: Api) -> Counter[str]:
    page = api.get("/metrics")[1]
    calls = {name: int(float(value)) for name, value in _CALLS.findall(page)}
    return Counter({name: n for name, n in calls.items() if not name.startswith(_CACHED)})


def documented_cost(method: str, path: str) -> set[str]:
    """Return the access patterns that the route declares."""
    for template, methods in _PATHS.items():
        if method.lower() in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            return set(methods[method.lower()]["x-access-patterns"])
    raise AssertionError(f"{method} {path} is not described")


@dataclass(frozen=True, slots=True)
class CostRecorder:
    """The users of one test, whose ids no other test uses, and the cost of their requests."""

    api: Api
    mark: str = field(default_factory=lambda: Namespace().mark)

    def name(self, user: str) -> str:
        return f"{user}-{self.mark}"

    def ok(self, user: str, method: str, path: str, body: object = None) -> Any:
        return self._good(self.api.ask(method, path, body, self.name(user)))

    def read(self, user: str, path: str) -> tuple[Any, dict[str, int]]:
        """Send a GET and return the body and its calls. Fail on scans, writes and patterns that it does not declare."""
        before = recorded_cost(self.api)
        answer = self._good(self.api.ask("GET", path, user=self.name(user)))
        calls = recorded_cost(self.api) - before
        self._hold("GET", path.partition("?")[0], calls)
        others = {name: REGISTRY[name].operation for name in calls if REGISTRY[name].operation not in READS}
        assert not others, f"reading {path} took {others}"
        return answer, dict(calls)

    def write(self, user: str, method: str, path: str, body: object) -> tuple[Any, dict[str, int]]:
        """Send a write and return the body and its calls. Other processes do the work that follows the answer."""
        before = recorded_cost(self.api)
        answer = self._good(self.api.ask(method, path, body, self.name(user)))
        calls = dict(recorded_cost(self.api) - before)
        self._hold(method, path, calls)
        return answer, calls

    @staticmethod
    def _hold(method: str, path: str, calls: Mapping[str, int]) -> None:
        unnamed = calls.keys() - documented_cost(method, path)
        assert not unnamed, f"{method} {path} touches {unnamed}, which its description does not name"

    @staticmethod
    def _good(answer: Answer) -> Any:
        assert answer.status < 300, answer.body
        return answer.body

    def direct(self, user: str, other: str) -> str:
        made: str = self.ok(user, "POST", "/v1/chats", {"type": "direct", "user": self.name(other)})["id"]
        self.settle(made, 1, user, other)
        return made

    def group(self, name: str, owner: str, *others: str) -> str:
        body = {
            "type": "group",
            "name": name,
            "members": list(map(self.name, others)),
            "client_message_id": Namespace().mark,
        }
        made: str = self.ok(owner, "POST", "/v1/chats", body)["id"]
        self.settle(made, 1, owner, *others)
        return made

    def send(self, user: str, chat: str, *texts: str, **more: object) -> int:
        """Send these texts and return the last sequence."""
        sent = {"sequence": 0}
        for text in texts:
            body = {"text": text, "client_message_id": Namespace().mark, **more}
            sent = self.ok(user, "POST", f"/v1/chats/{chat}/messages", body)
        return int(sent["sequence"])

    def line(self, user: str, chat: str) -> Any:
        chats = self.ok(user, "GET", "/v1/chats")["chats"]
        return next((line for line in chats if line["id"] == chat), None)

    def settle(self, chat: str, sequence: int, *people: str) -> None:
        """Wait until the chat lists of these users show this sequence, so that no write of delivery is outstanding."""

        def is_there(user: str) -> bool | None:
            line = self.line(user, chat)
            return True if line and line["head_sequence"] >= sequence else None

        for user in people:
            eventually(lambda user=user: is_there(user), f"line of {user} at {sequence}")  # type: ignore[misc]  # a default's type
