"""The report is generated from result files only, and contains what it must."""

import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench import all as everything
from bench.all import ELSEWHERE, FOLDER
from bench.whole import report
from bench.whole.latency import latency
from bench.whole.model import Found, Goal, Growth, Result, Share, Shares, figure, line, load_all, save
from bench.whole.page import Plot, Table, Text, html, markdown
from bench.whole.parts import PARTS

ORDER = [part.name for part in PARTS]


def result(part: str, found: Found, **more: Any) -> Result:
    given: dict[str, Any] = {
        "title": f"Title of {part}",
        "is_short": False,
        "commit": "abcdef",
        "command": f"just bench {part}",
    }
    return Result(part=part, found=found, **(given | more))


RATIO = figure("ours / bare", (0.81, 0.95, 0.97), goal=Goal("more", 0.93), noise=(0.88, 1.13))
GROWN = Growth(
    title="History",
    along="entries",
    lines=(line("a page", "µs", [(64.0, 311.0), (640.0, 322.0), (6_400.0, 333.0)]),),
    why="It is one Query.",
)
CPU = figure("CPU of a message", 713.0, "µs")
THEIRS = figure("CPU of a message", 37.0, "µs")
RESULTS = [
    result("one", Found(figures=(RATIO,), remarks=("Mind the gap.",)), machine={"cores": "two"}),
    result(
        "two",
        Found(
            latencies=(latency("calm", [0.0047] * 11),),
            shares=(Shares(title="Who", unit="µs", shares=(Share("at peak", "worker", 217.0),)),),
        ),
    ),
    result("three", Found(growths=(GROWN,))),
    result("four", Found(figures=(CPU,)), peer="Tidings"),
    result("five", Found(figures=(THEIRS,)), peer="Quick", elsewhere="measured elsewhere"),
    result("odd", Found(figures=(figure("CPU of a message", 41.0, "µs"),)), peer="Other"),
    result("six", Found(skipped="it is not installed"), peer="Absent"),
]


def text_of(results: Sequence[Result]) -> str:
    return markdown(report.report(results))


def numbers_in(text: str) -> set[str]:
    return set(re.findall(r"\d[\d.,]*", re.sub(r"[.,](?!\d)", "", text)))


def moved[T](value: T, change: Callable[[float], float]) -> T:
    """Change every number in a value and keep all text."""

    def walk(found: Any) -> Any:
        match found:
            case bool():
                return found
            case int() | float():
                return change(float(found))
            case dict():
                return {name: _without_digits(name, walk(each)) for name, each in found.items()}
            case list() | tuple():
                return [walk(each) for each in found]
        return found

    return msgspec.convert(walk(msgspec.to_builtins(value)), type(value), strict=False)


def _without_digits(name: str, value: Any) -> Any:
    """Remove commits, dates and histograms: their digits could hide a typed figure."""
    if name == "machine":
        return dict.fromkeys(value, "some")
    return "some" if name in {"hdr", "commit", "began_at"} else value


def test_no_figure_of_the_report_is_typed_by_hand() -> None:
    """If every result is 7, every number of the page comes from a 7 or from the text of a result file."""
    real = [*load_all(FOLDER / "results", ORDER), *load_all(ELSEWHERE)]
    assert any(each.found.growths for each in real), "no results with growth"
    sevens = [moved(each, lambda _: 7.0) for each in real]
    words = numbers_in(" ".join(_strings(msgspec.to_builtins(sevens))))
    left = numbers_in(text_of(sevens)) - words
    assert left <= {"7", "1"}, "1 is the ratio of 7 to 7"


def _strings(found: Any) -> list[str]:
    match found:
        case str():
            return [found]
        case dict():
            return [text for each in found.values() for text in _strings(each)]
        case list() | tuple():
            return [text for each in found for text in _strings(each)]
    return []


def test_the_page_in_the_docs_matches_its_results() -> None:
    """If this fails, run `just bench all --report`."""
    results = [*load_all(FOLDER / "results", ORDER), *load_all(ELSEWHERE)]
    assert (FOLDER / "report.md").read_text() == text_of(results)


def test_every_part_has_its_results_in_the_docs() -> None:
    measured = {each.part for each in load_all(FOLDER / "results")}
    assert measured == set(ORDER)


def test_a_ratio_has_its_range_noise_target_and_whether_the_target_is_reached() -> None:
    assert "| ours / bare | 0.95 | 0.81 to 0.97 | 0.88 to 1.13 |" in text_of(RESULTS)
    assert "| ours / bare | 0.95 | ≥ 0.93 | yes |" in text_of(RESULTS)
    missed = result("one", Found(figures=(figure("it", 3.0, goal=Goal("less", 2, "a wall.")),)))
    assert "| it | 3 | ≤ 2 | **no** |" in text_of([missed])
    assert "- **it** (3 instead of 2): a wall." in text_of([missed])
    assert "ours / bare** (" not in text_of(RESULTS), "its target is reached"


def grown(*points: tuple[float, float]) -> str:
    return report.growth_text(Growth(title="It", along="many", lines=(line("a page", "µs", points),), why=""))


def test_growth_has_a_classification_its_first_and_last_values_and_a_reason() -> None:
    text = text_of(RESULTS)
    assert "- a page: **constant**; 311 µs at 64, 333 at 6,400" in text
    assert "It is one Query." in text


def test_a_line_that_becomes_linear_is_called_linear_from_that_point_on() -> None:
    text = grown((250, 0.12), (500, 1.5), (2_500, 5), (5_000, 10), (10_000, 20))
    assert text.startswith("- a page: **linear** from 2,500 on: twice the number costs 2")
    assert text.endswith(" times as much; 0.12 µs at 250, 20 at 10,000")


def test_a_line_that_falls_again_is_described_by_its_peak() -> None:
    assert grown((2, 3), (100, 200), (10_000, 4)) == "- a page: **peak at 100**: 200 µs; 3 at 2, 4 at 10,000"


def test_lines_of_one_name_in_two_units_have_a_column_each() -> None:
    lines = tuple(line("a page", unit, [(1.0, y), (2.0, y)]) for unit, y in (("µs", 41.0), ("ms", 43.0)))
    text = text_of([result("three", Found(growths=(Growth(title="It", along="many", lines=lines, why=""),)))])
    assert "| many | a page, µs | a page, ms |" in text
    assert "| 1 | 41 | 43 |" in text


def test_the_better_server_is_stated() -> None:
    text = text_of(RESULTS)
    assert (
        "**Quick** is better in all of the shared figures:\n\n- CPU of a message is 37 µs, with Tidings 713\n\n"
        "**Tidings** is better in none." in text
    )
    assert "Quick \\*" in text
    assert "- \\* measured elsewhere." in text


def test_a_paragraph_has_the_three_largest_differences_and_the_cost_of_a_message() -> None:
    cost = "CPU per direct message, server"
    ours = {cost: 200.0, "a": 1_000.0, "b": 1_000.0, "c": 1_000.0, "d": 1.0, "equal": 5.0}
    theirs = {cost: 100.0, "a": 10.0, "b": 20.0, "c": 30.0, "d": 2.0, "equal": 5.0}
    peers = [
        result(peer, Found(figures=tuple(figure(*each) for each in some.items())), peer=peer)
        for peer, some in (("Tidings", ours), ("Other", theirs))
    ]
    assert (
        "**Other** is better in nearly all of the shared figures, most clearly:\n\n"
        "- a direct message costs 100 µs of server CPU, with Tidings 200\n"
        "- a is 10, with Tidings 1,000\n"
        "- b is 20, with Tidings 1,000\n\n"
        "**Tidings** is better in the others:\n\n"
        "- d is 2, with Tidings 1" in text_of(peers)
    )


def test_a_measurement_on_a_busy_machine_has_a_warning_with_the_load() -> None:
    quiet = result("calm", Found(figures=(CPU,), remarks=("it acks.",)), peer="Calm", load_before=1.9)
    busy = result(
        "busy", Found(figures=(CPU,), remarks=("it acks.",)), peer="Busy", load_before=6.5, load_after=8.0
    )
    text = text_of([quiet, busy])
    assert "- **Calm**: it acks.\n" in text
    assert (
        "- **Busy**: it acks. The machine did other work during this measurement (load 6.50 before, 8 after)"
        in text
    )


def test_a_server_that_was_not_measured_is_listed_with_the_reason() -> None:
    assert "**Absent** was not measured: it is not installed" in text_of(RESULTS)


def test_a_short_run_is_marked_at_the_top() -> None:
    assert "A short run" not in text_of(RESULTS)
    assert "A short run" in text_of([*RESULTS, result("seven", Found(), is_short=True)])


def test_each_part_is_listed_with_its_commit_and_command() -> None:
    assert "| one | `abcdef` |" in text_of(RESULTS)
    assert "`just bench one`" in text_of(RESULTS)


class _Looking(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.cells += tag in {"td", "th"}
        self.sources += [value or "" for name, value in attrs if name in {"src", "href"}]


def test_the_html_page_needs_no_other_file() -> None:
    blocks = list(report.report(RESULTS))
    looking = _Looking()
    looking.feed(html("It", blocks))
    assert len(looking.sources) == 4
    assert all(source.startswith("data:image/svg+xml;base64,") for source in looking.sources)
    tables = [block for block in blocks if isinstance(block, Table)]
    assert looking.cells == sum(len(table.head) * (1 + len(table.rows)) for table in tables)


def test_html_in_a_result_is_escaped() -> None:
    assert "<script>" not in html("It", [Text("a <script> & `b < c`"), Table(("<script>",), (("1 < 2",),))])


def test_old_plots_are_deleted_and_saved_results_can_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "old.svg").touch()
    for each in RESULTS:
        save(each, tmp_path / "results")
    assert load_all(tmp_path / "results", [each.part for each in RESULTS]) == RESULTS
    report.write(RESULTS, tmp_path)
    assert "old.svg" not in {path.name for path in (tmp_path / "plots").iterdir()}
    named = re.findall(r"\]\((plots/[^)]+)\)", (tmp_path / "report.md").read_text())
    assert {f"plots/{path.name}" for path in (tmp_path / "plots").iterdir()} == set(named)


def test_the_same_results_give_the_same_picture() -> None:
    def pictures() -> list[str]:
        return [block.drawn() for block in report.report(RESULTS) if isinstance(block, Plot)]

    assert len(pictures()) == 4
    assert pictures() == pictures()


def test_a_failed_part_is_reported_and_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def child(name: str, _: object) -> bool:
        ran.append(name)
        return name != "sends"

    monkeypatch.setattr(everything, "_child", child)
    monkeypatch.setattr("sys.argv", ["all", "--to", str(tmp_path), "--only", "sends", "fanout"])
    assert everything.main() == 1
    assert ran == ["sends", "fanout"]
    assert "run again with --only: sends" in capsys.readouterr().out
    assert "- sends: it failed" in (tmp_path / "report.md").read_text()


def test_other_servers_are_measured_only_on_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[str] = []

    def child(name: str, _: object) -> bool:
        ran.append(name)
        return True

    monkeypatch.setattr(everything, "_child", child)
    monkeypatch.setattr("sys.argv", ["all", "--to", str(tmp_path)])
    assert everything.main() == 0
    assert ran == [part.name for part in PARTS if not part.peer]
