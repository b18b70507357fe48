"""Make one page for each error code from the sections of the page of all codes."""

import re
from typing import Final

from tidings.api import problems
from tidings.kernel.errors import Code
from tools.docs_site.markdown import markdown_table, rewrite_links, summary

_SECTION = re.compile(r"^## (\w+)\n", re.MULTILINE)
_FOLDER: Final = "reference/errors"


def pages(text: str, place: str) -> dict[str, str]:
    """Return the list of codes at `place`, and a page for each code."""
    intro, *parts = _SECTION.split(text)
    sections = dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
    rows = [
        (
            f"[`{code}`](errors/{code}.md)",
            _status(code),
            _retryable(code),
            summary(said.removeprefix("Retryable. ")),
        )
        for code, said in sections.items()
    ]
    index = [intro.strip(), "", *markdown_table(("code", "HTTP status", "retryable", "meaning"), rows), ""]
    made = {f"{_FOLDER}/{code}.md": _page(code, said) for code, said in sections.items()}
    return {place: "\n".join(index), **made}


def _page(code: str, said: str) -> str:
    rows = [("HTTP status", _status(code)), ("retryable", _retryable(code) or "no")]
    text = rewrite_links(said, _one_deeper)
    more = f"`tidings explain {code}` prints this text in a terminal. [All error codes](../errors.md)"
    return "\n".join([f"# {code}", "", text, "", *markdown_table(("property", "value"), rows), "", more, ""])


def _one_deeper(mark: str, label: str, target: str) -> str:
    is_absolute = re.match(r"[a-z]+:|/", target)
    return f"{mark}[{label}]({target if is_absolute else f'../{target}'})"


def _status(code: str) -> str:
    return str(problems.STATUS.get(Code(code), ""))


def _retryable(code: str) -> str:
    return "yes" if problems.is_retryable(Code(code)) else ""
