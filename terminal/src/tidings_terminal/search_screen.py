"""The dialog of `/search`: a field for words, and the messages that were found."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final, override

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tidings_sdk import Client, RequestRefused, SearchResult, TidingsError
from tidings_terminal import formatting
from tidings_terminal.rendering import ViewContext, name_of

_MAX_CHARS: Final = 250
_PAGE: Final = 50


class SearchScreen(ModalScreen[SearchResult | None]):
    """Search messages, and return the one that the user chooses. `titles`: of the chats, by id."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close"),
        Binding("down", "app.focus_next", "Results", show=False),
    ]

    def __init__(self, client: Client, titles: Mapping[str, str], context: ViewContext, words: str) -> None:
        super().__init__()
        self._client, self._titles, self._view, self._words = client, titles, context, words
        self._results: list[SearchResult] = []

    @override
    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -search"):
            yield Static("Search your messages", markup=False, classes="-title")
            yield Input(
                self._words, placeholder="Words, or lun* for words that start so", max_length=_MAX_CHARS
            )
            yield Static("", markup=False, id="found")
            yield OptionList(id="results", markup=False)
            yield Static("Enter  Search, open     Tab  Results     Esc  Close", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        if self._words:
            self._search(self._words)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self._search(event.value)

    def _search(self, words: str) -> None:
        self._tell("Searching …")
        # A search that is not finished is dropped.
        self.run_worker(self._find(words.strip()), exclusive=True, exit_on_error=False)

    async def _find(self, words: str) -> None:
        try:
            page = await self._client.search.find(words, limit=_PAGE)
        except (TidingsError, ValueError) as error:
            self._tell(_reason(error))
            return
        self._results = page.results
        options = self.query_one(OptionList)
        options.set_options([Option(self._line(each)) for each in page.results])
        self._tell(_count(len(page.results), has_more=page.cursor is not None))
        if page.results:
            options.highlighted = 0
            options.focus()

    def _line(self, result: SearchResult) -> Content:
        at_ms = int(datetime.fromisoformat(result.message.created_at).timestamp() * 1000)
        when = formatting.format_clock(at_ms, self._view.now_ms, self._view.zone)
        chat = self._titles.get(result.chat, result.chat)
        parts: list[tuple[str, str]] = [
            (f"{chat} · {name_of(result.message.sender, self._view)} · {when}\n", "dim")
        ]
        parts += [
            (
                formatting.strip_controls(part.text).replace("\n", " "),
                "bold underline" if part.is_match else "",
            )
            for part in result.highlights
        ]
        return Content.assemble(*parts)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        _ = self.dismiss(self._results[event.option_index])

    def _tell(self, text: str) -> None:
        self.query_one("#found", Static).update(text)


def _reason(error: Exception) -> str:
    code = error.code if isinstance(error, RequestRefused) else ""
    if code == "search_off":
        return "Search is off. An administrator can turn it on."
    if code == "request_invalid":
        return "Enter words of a message."
    return f"The search failed: {error}"


def _count(found: int, *, has_more: bool) -> str:
    if has_more:
        return f"The newest {found} messages:"
    return {0: "No messages found.", 1: "1 message:"}.get(found, f"{found} messages:")
