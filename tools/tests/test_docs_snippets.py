"""Every code block of the documentation for users is executed by a test, or is listed here with the reason."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tidings.app.settings.loader import FIELDS, TOP
from tools.tests.test_web_guides import PAGES as WEB_GUIDES

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

RUN_BY = {
    "server/tests/e2e/test_drill.py",
    "server/tests/e2e/test_howto_pages.py",
    "server/tests/e2e/test_howto_restore.py",
    "server/tests/e2e/test_walkthrough.py",
    "server/tests/contract/accounts/test_authenticate_users.py",
    "server/tests/faults/whole/failover.py",
    "sdk-python/tests/test_examples.py",
    "infra/monitoring/rules.py",
}
"""Tests that take the blocks of a page from the page, by its path."""

NOT_RUN = {
    "README.md": "the commands of .ci/run and of server/tests/e2e/test_first_minute.py",
    "docs/explanation/promises.md": "the commands of `just check --full` and of `just nightly`",
    "docs/howto/test-with-faults.md": "fragments of server/tests/faults",
    "docs/howto/trace-a-message.md": "an output while no worker runs, compared by server/tests/e2e/trace",
    "docs/howto/troubleshoot.md": "an output of a machine with a low limit, compared by the tests of the doctor",
    "docs/howto/answer-support-questions.md": "a template, and a command of server/tests/e2e/test_revocation.py",
    "docs/howto/use-the-terminal-client.md": "the command of test_first_minute.py, and a template",
    "docs/howto/use-the-typescript-client.md": "the example plain-client, which browser-tests starts",
    "docs/howto/deploy-on-aws.md": "an account of AWS; infra/tests checks the modules",
    "docs/howto/fail-over-to-another-region.md": "an account of AWS; `just faults failover` runs the other blocks",
    "docs/howto/rehearse-a-recovery.md": "an account of AWS; server/tests/e2e/test_drill.py runs the other blocks",
    "docs/howto/scale-up.md": "an account of AWS; test_howto_pages.py runs the other blocks",
    "docs/howto/install-on-kubernetes.md": "a cluster; infra/tests renders and validates the chart",
    "docs/howto/install-on-one-machine.md": "a machine with systemd; infra/tests checks its files, the fault suite the crash",
    "docs/howto/install-with-compose.md": "a machine with Docker; infra/tests checks the file, `just image check` the image",
    "docs/howto/measure-an-installation.md": "the command of server/tests/e2e/test_harness_load.py, with other addresses",
    "docs/howto/add-chat-to-a-react-app.md": "installation from a registry, before the first release; browser-tests runs the app",
    "docs/howto/add-an-inbox-to-a-react-app.md": "installation from a registry, before the first release; browser-tests runs the app",
    "docs/howto/work-with-tidings-dev.md": "the command that all pages of test_howto_pages.py build on",
    "docs/howto/verify-a-release.md": "an installation, as `just release try`; test_release_signature.py verifies files as the page does",
    "docs/tutorials/client-without-sdk.md": "frames; the page's program runs",
    "docs/tutorials/quickstart.md": "the commands of .ci/run and of test_first_minute.py, which also kills the gateway",
}
"""Pages with blocks without a language, which no test takes from the page."""


def pages() -> list[str]:
    folders = ("docs/concepts", "docs/howto", "docs/tutorials")
    found = [path for folder in folders for path in (ROOT / folder).glob("*.md")]
    found += [ROOT / "README.md", ROOT / "docs/index.md", ROOT / "docs/explanation/promises.md"]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def blocks(*languages: str) -> list[tuple[str, str]]:
    return [
        (page, code)
        for page in pages()
        for language, code in _BLOCK.findall((ROOT / page).read_text())
        if language in languages
    ]


def is_run(page: str) -> bool:
    name = page.removeprefix("docs/")
    return any(name in (ROOT / test).read_text() or page in (ROOT / test).read_text() for test in RUN_BY)


@pytest.mark.parametrize("page", sorted({page for page, _ in blocks("sh", "json", "text")}))
def test_the_commands_of_a_page_are_run(page: str) -> None:
    assert is_run(page), "add the page to server/tests/e2e/test_howto_pages.py"


@pytest.mark.parametrize("page", sorted({page for page, _ in blocks("python", "ts", "tsx", "css")}))
def test_the_code_of_a_page_is_run_or_compiled(page: str) -> None:
    assert is_run(page) or page in WEB_GUIDES or page in NOT_RUN or "show-an-inbox" in page


def test_blocks_without_a_language_are_run_or_listed() -> None:
    found = {page for page, _ in blocks("")}
    run = {page for page in found if is_run(page) and page not in NOT_RUN}
    assert found - run <= set(NOT_RUN)


def test_the_list_has_no_page_without_such_a_block() -> None:
    assert set(NOT_RUN) <= {page for page, _ in blocks("", "python")}


@pytest.mark.parametrize(("page", "code"), blocks("toml"))
def test_the_settings_of_a_page_exist(page: str, code: str) -> None:
    for name, value in tomllib.loads(code).items():
        keys = [(name, each) for each in value] if isinstance(value, dict) else [(TOP, name)]
        assert [key for key in keys if key not in FIELDS] == [], page


@pytest.mark.parametrize(("page", "code"), blocks("yaml"))
def test_yaml_of_a_page_is_valid(page: str, code: str) -> None:
    assert yaml.safe_load(code), page


def test_every_language_is_covered() -> None:
    known = ("", "sh", "json", "text", "python", "ts", "tsx", "css", "toml", "yaml", "hcl", "mermaid")
    every = {language for page in pages() for language, _ in _BLOCK.findall((ROOT / page).read_text())}
    assert every <= set(known)
