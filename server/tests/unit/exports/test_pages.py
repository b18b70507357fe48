"""Pages of an archive show what users wrote as text, never as markup."""

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidings.exports import pages
from tidings.exports.model import ExportCounts
from tidings.exports.pages import ChatPageView

TEXT = st.text(max_size=60) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</style><b>",
        "&lt;",
        "'",
        "\u202eabc",
        "\x00",
    ]
)
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "nav",
        "a",
        "h1",
        "h2",
        "article",
        "b",
        "bdi",
        "time",
    ),
    *("p", "small", "img", "pre", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"),
}
HREFS = ("../index.html", "../chats/00001", "../media/", "chats/00001", "index.html", "inbox.html")


class Page(HTMLParser):
    """The tags, attributes and text that a browser finds."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def check_is_inert(page: Page) -> None:
    assert page.tags <= TAGS
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "style", tag
        if name in ("href", "src") and value is not None and not value.endswith((".json", ".jsonl")):
            assert value.startswith(HREFS), value


def visible(text: str) -> str:
    """Return a text as a page shows it: without characters that HTML forbids; a parser joins the ends of lines."""
    return pages._CONTROL.sub("\ufffd", text)


def entry(text: str = "hi", **more: Any) -> dict[str, Any]:
    made = {"id": "c.1", "sequence": 1, "kind": "message", "sender": "anna", "state": "active", "text": text}
    return made | {"created_at": "2026-11-18T10:00:00.000Z"} | more


def view(*entries: dict[str, Any], **more: Any) -> ChatPageView:
    made: dict[str, Any] = {
        "title": "us",
        "number": 1,
        "page": 0,
        "has_next": False,
        "reader": "anna",
        "entries": entries,
        "names": {},
        "files": {},
    }
    return ChatPageView(**made | more)


@given(text=TEXT, title=TEXT, name=TEXT, emoji=TEXT, file=TEXT)
@example("<script>", "</title><script>", "<b>", '"', 'a.png" onload="x')
def test_what_users_write_is_text_and_never_markup(
    text: str, title: str, name: str, emoji: str, file: str
) -> None:
    shown = entry(
        text,
        data={text: [title]},
        attachments=["u1", "u2"],
        reactions=[{"emoji": emoji, "count": 1, "users": []}],
    )
    files = {"u1": ("image/png", "media/u1-a.png", file), "u2": ("text/html", "media/u2-b.txt", file)}
    rename = entry(kind="rename", name=title) | {"sequence": 2}
    joined = entry(kind="join", users=[name]) | {"sequence": 3}
    page = Page(pages.chat_page(view(shown, rename, joined, title=title, names={"anna": name}, files=files)))
    check_is_inert(page)
    for each in (text, title, name, emoji, file):
        assert visible(each) in page.text


@given(text=TEXT, name=TEXT)
def test_the_index_and_the_inbox_are_inert_too(text: str, name: str) -> None:
    index = pages.index_start(text, name, "2026-11-18T10:00:00.000Z") + pages.index_row(1, text, 3).encode()
    check_is_inert(Page(index + pages.index_end(ExportCounts(chats=1))))
    fields = {
        "message": {text: name, "more": [name]},
        "is_read": True,
        "is_archived": False,
        "category": text,
    }
    shown = pages.notification(name, fields | {"received_at": text})
    inbox = Page(pages.inbox_start() + shown.encode() + pages.PAGE_END.encode())
    check_is_inert(inbox)
    assert visible(name) in inbox.text


def test_a_page_forbids_scripts_and_loads_nothing_from_elsewhere() -> None:
    page = Page(pages.chat_page(view(entry())))
    policy = next(
        value for tag, name, value in page.attributes if tag == "meta" and "default-src" in str(value)
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("state", ["redacted", "expired", "erased", "unreadable"])
def test_a_message_without_content_says_why(state: str) -> None:
    gone = entry(state=state)
    del gone["text"]
    assert pages._GONE[state] in Page(pages.chat_page(view(gone))).text


@pytest.mark.parametrize(
    ("page", "has_next", "links"),
    [
        (0, False, []),
        (0, True, ["../chats/00001-2.html"] * 2),
        (1, True, ["../chats/00001.html", "../chats/00001-3.html"] * 2),
        (2, False, ["../chats/00001-2.html"] * 2),
    ],
)
def test_pages_of_a_chat_link_to_each_other(page: int, *, has_next: bool, links: list[str]) -> None:
    made = Page(pages.chat_page(view(entry(), page=page, has_next=has_next)))
    assert [
        value for tag, name, value in made.attributes if name == "href" and "chats/" in str(value)
    ] == links


def test_changes_are_shown_with_their_message_and_not_as_events() -> None:
    changes = [entry(kind=kind) for kind in ("edit", "redaction", "reaction")]
    assert "article" not in Page(pages.chat_page(view(*changes))).tags
    edited = Page(pages.chat_page(view(entry(edited_at="2026-11-18T11:00:00.000Z"))))
    assert "edited" in edited.text
