"""Guides on top of `tidings dev`: every command runs as printed, and its output is compared with the page.

All pages share one `tidings dev`, as for a reader who follows one page after the other.
"""

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
    "howto/trace-a-message.md",
    "howto/send-notifications.md",
    "howto/send-broadcasts.md",
    "howto/rotate-keys.md",
    "howto/monitor-with-prometheus.md",
    "tutorials/client-without-sdk.md",
]
START = """\
tidings dev > dev.log 2>&1 &
DEV=$!
while [ ! -f .tidings/dev/client.json ] && kill -0 $DEV; do sleep 1; done
[ -f .tidings/dev/client.json ] || { cat dev.log; false; }
"""
STOP = "kill $DEV; wait $DEV"
DEV_DEADLINE_S = 900.0


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run `tidings dev` in a directory, which it returns."""
    directory = tmp_path_factory.mktemp("dev")
    with opened(directory, ".", deadline_s=DEV_DEADLINE_S) as shell:
        shell.run(START)
        yield directory
        shell.run(STOP)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_prints_what_the_page_shows(dev: Path, page: str) -> None:
    found = steps((DOCS / page).read_text())
    assert found, "the page has no `sh` block"
    shell = Shell(dev)
    try:
        for step in found:
            follow(shell, step)
    finally:
        shell.close()
