"""The code of the guides for web developers is code of the examples, which CI compiles and runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    "docs/howto/add-chat-to-a-react-app.md",
    "docs/howto/add-an-inbox-to-a-react-app.md",
    "docs/howto/let-users-choose-notifications.md",
    "docs/howto/use-the-typescript-client.md",
    "sdk-node/README.md",
    "sdk-typescript/README.md",
    "react/README.md",
]
SUFFIXES = {"ts": (".ts", ".tsx"), "tsx": (".tsx",), "css": (".css",), "python": (".py",)}
_BLOCK = re.compile(r"^```(ts|tsx|css|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str, str]]:
    pages = [(page, (ROOT / page).read_text()) for page in PAGES]
    return [(page, *found) for page, text in pages for found in _BLOCK.findall(text)]


def sources(suffixes: tuple[str, ...]) -> list[str]:
    tracked = [path for path in (ROOT / "examples").rglob("*") if path.suffix in suffixes]
    return [
        path.read_text() for path in tracked if "node_modules" not in path.parts and ".next" not in path.parts
    ]


def dedent(text: str) -> str:
    """Return the text without indentation: a block may be the inside of a function."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


@pytest.mark.parametrize(("page", "language", "code"), blocks())
def test_code_of_a_guide_is_code_of_an_example(page: str, language: str, code: str) -> None:
    assert any(dedent(code) in dedent(source) for source in sources(SUFFIXES[language])), (
        f"{page} has code that no example has:\n{code}"
    )


def test_the_guides_have_code() -> None:
    assert {page for page, _, _ in blocks()} == set(PAGES)
