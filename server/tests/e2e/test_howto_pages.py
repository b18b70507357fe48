"""Guides on top of `tidings dev`: every command runs as printed, and its output is compared with the page.

All pages share one `tidings dev`, as for a reader who follows one page after the other.
"""

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.docs_runner import steps
from e2e.test_walkthrough import Shell, follow, opened

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [
    "howto/authenticate-users.md",
    "howto/log-in-by-phone.md",
    "howto/find-users-by-phone.md",
    "howto/add-many-members.md",
    "howto/trace-a-message.md",
    "howto/send-notifications.md",
    "howto/send-push-notifications.md",
    "howto/send-attachments.md",
    "howto/send-broadcasts.md",
    "howto/let-users-choose-notifications.md",
    "howto/send-notifications-by-email.md",
    "howto/rotate-keys.md",
    "howto/monitor-with-prometheus.md",
    "howto/run-the-api.md",
    "howto/run-the-gateway.md",
    "howto/run-delivery.md",
    "howto/run-notifications.md",
    "howto/receive-webhooks.md",
    "howto/moderate-messages.md",
    "howto/moderate-chats.md",
    "howto/review-reports.md",
    "howto/search-messages.md",
    "howto/run-webhooks.md",
    "howto/run-the-relay.md",
    "howto/run-in-production.md",
    "howto/handle-dead-letters.md",
    "howto/troubleshoot.md",
    "howto/upgrade.md",
    "howto/answer-support-questions.md",
    "howto/erase-a-user.md",
    "howto/delete-a-tenant.md",
    "howto/set-a-retention-policy.md",
    "howto/archive-old-messages.md",
    "howto/answer-a-data-request.md",
    "howto/read-the-audit-log.md",
    "howto/sign-in-to-the-console.md",
    "tutorials/quickstart.md",
    "tutorials/client-without-sdk.md",
    "howto/import-from-slack-or-matrix.md",
]
START = """\
tidings dev > dev.log 2>&1 &
DEV=$!
while [ ! -f .tidings/dev/client.json ] && kill -0 $DEV; do sleep 1; done
[ -f .tidings/dev/client.json ] || { cat dev.log; false; }
"""
STOP = "kill $DEV; wait $DEV"
DEV_DEADLINE_S = 1800.0


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run `tidings dev` in a directory, which it returns."""
    directory = tmp_path_factory.mktemp("dev")
    with opened(directory, ".", deadline_s=DEV_DEADLINE_S) as shell:
        shell.run(START)
        yield directory
        shell.run(STOP)


LONG = {"howto/send-broadcasts.md"}
"""Pages that wait for minutes. `just nightly` runs them."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.long if page in LONG else ()) for page in PAGES]
)
def test_every_command_of_the_page_prints_what_the_page_shows(dev: Path, page: str) -> None:
    found = steps((DOCS / page).read_text())
    assert found, "the page has no `sh` block"
    shell = Shell(dev)
    try:
        for step in found:
            follow(shell, step)
    finally:
        shell.close()


FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    return FENCE.findall((DOCS / page).read_text())


def test_the_program_of_the_inbox_page_shows_a_new_notification(dev: Path) -> None:
    (dev / "show_inbox.py").write_text(
        next(code for kind, code in blocks("howto/show-an-inbox.md") if kind == "python")
    )
    commands = [code for kind, code in blocks("howto/show-an-inbox.md") if kind == ""]
    start = next(code for code in commands if "python show_inbox.py" in code).rstrip()
    send = next(code for code in commands if "tidings inbox send" in code)
    marks = next(code for code in commands if "mark_read" in code)
    shell = Shell(dev)
    try:
        shell.run(f"{start} > shown.txt &\nSHOWN=$!\n{_until('unread:', 'shown.txt')}")
        shell.run(f"{send}\n{_until('Hello', 'shown.txt')}\nkill $SHOWN; wait $SHOWN || true")
        (dev / "marks.py").write_text(
            _MARKS.format(marks="".join(f"        {line}\n" for line in marks.splitlines()))
        )
        assert "0 unseen" in shell.run("python marks.py")
    finally:
        shell.close()


_MARKS = """
import asyncio
from tidings_sdk import Client

async def main():
    async with Client.from_dev("anna") as client:
        inbox = client.inbox("default")
        notification = (await inbox.list()).notifications[0]
{marks}        print(inbox.counts.unseen, "unseen")

asyncio.run(main())
"""


def _until(text: str, file: str) -> str:
    return f"for attempt in $(seq 150); do grep -q '{text}' {file} && break; sleep 0.2; done; grep -q '{text}' {file}"


def test_the_page_of_the_metrics_has_every_metric_of_every_process(dev: Path) -> None:
    ports = json.loads((dev / ".tidings/dev/client.json").read_text())["admin_ports"]
    assert len(ports) == 10
    page = (DOCS / "reference/metrics.md").read_text()
    for port in ports.values():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            names = re.findall(r"^# HELP (tidings_\w+)", answer.read().decode(), re.MULTILINE)
        assert names
        assert [name for name in names if f"| `{name}` |" not in page] == []


def test_the_process_of_the_page_runs_as_printed(tmp_path: Path) -> None:
    (code,) = (code for kind, code in blocks("howto/write-a-process.md") if kind == "python")
    start, look = (code for kind, code in blocks("howto/write-a-process.md") if kind == "")
    (tmp_path / "example.py").write_text(code)
    shell = Shell(tmp_path)
    try:
        shell.run(
            f"{start.rstrip()} > example.log 2>&1 &\nEXAMPLE=$!\n{_until('process started', 'example.log')}"
        )
        (port,) = re.findall(r'"admin_port": ?(\d+)', (tmp_path / "example.log").read_text())
        answers = shell.run(look.replace("PORT", port))
        assert '"ready":true' in answers.replace(" ", "")
        assert "tidings_events_handled_total" in answers
        shell.run("kill $EXAMPLE; wait $EXAMPLE")
    finally:
        shell.close()


def test_the_engines_start_and_stop_as_the_page_shows(tmp_path: Path) -> None:
    with opened(tmp_path, ".") as shell:
        for step in steps((DOCS / "howto/run-the-engines.md").read_text()):
            follow(shell, step)


@pytest.mark.long
def test_an_installation_scales_up_as_the_page_shows(tmp_path: Path) -> None:
    with opened(tmp_path, ".") as shell:
        for step in steps((DOCS / "howto/scale-up.md").read_text()):
            follow(shell, step)
