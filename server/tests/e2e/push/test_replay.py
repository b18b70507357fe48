"""An operator replays a notification that a push provider refused, and reads every attempt in the trace."""

import asyncio
import json
from typing import Any

from e2e.push.conftest import PushInstallation
from e2e.push.steps import LONG_S, direct, send, shown
from fixtures.apns_server import refusal
from fixtures.loops import until


async def test_a_refused_notification_is_replayed_and_explained(push_installation: PushInstallation) -> None:
    push = push_installation
    one, other, chat, target = await direct(push)
    push.apns.next_answers.append(refusal(413, "PayloadTooLarge"))
    await send(push, one, chat)
    await push.wait_for_results(chat, 2, "failed")
    listed = await asyncio.to_thread(push.processes.command, "dead-letter", "list", "offline-dead")
    assert "413 PayloadTooLarge" in listed
    reason = ("--reason", "the payload is shorter now")
    await asyncio.to_thread(push.processes.command, *reason, "dead-letter", "replay", "offline-dead/0/0")
    await until(lambda: shown(push, target, chat) == 2, LONG_S)
    await push.wait_for_results(chat, 2, "sent")
    words = ("trace", f"{chat}.2", "--tenant", push.processes.space.tenant, "--user", other, "--json")
    trace: dict[str, Any] = json.loads(await asyncio.to_thread(push.processes.command, *words))
    (recipient,) = trace["recipients"]
    (found,) = recipient["pushes"]
    assert (found["outcome"], found["provider"]) == ("sent", "apns")
    answers = [(each["action"], each["status"], each["answer"]) for each in found["attempts"]]
    assert answers == [("alert", 413, "PayloadTooLarge"), ("alert", 200, "")]
