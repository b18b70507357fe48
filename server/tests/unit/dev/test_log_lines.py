import json

from tidings.dev.console import format_entry, is_quiet, is_request, log_sources

API = log_sources(["api", "gateway"])["api"]


def line(**fields: object) -> str:
    return json.dumps({"time": "2026-11-15T09:10:51.400Z", "level": "info", "event": "listening", **fields})


def test_a_line_is_short_and_has_the_fields_that_matter() -> None:
    text = format_entry(line(process="api", instance="vm-1-2", pid=7, port=8080, host=None), API)
    assert text.plain.partition(" ")[2] == "api     │ info    listening  port=8080"


def test_processes_and_levels_have_colours_of_their_own() -> None:
    by_name = log_sources(["api", "gateway", "delivery"])
    assert len({speaker.colour for speaker in by_name.values()}) == 3
    styles = {str(span.style) for span in format_entry(line(level="error"), API).spans}
    assert {"bold red", API.colour} <= styles


def test_an_error_has_the_end_of_its_stack() -> None:
    frames = [{"filename": f"f{n}.py", "lineno": n, "name": "go"} for n in range(5)]
    text = format_entry(
        line(exception=[{"exc_type": "ValueError", "exc_value": "no", "frames": frames}]), API
    ).plain
    assert text.splitlines()[1:] == [
        "    ValueError: no",
        "      f2.py:2 in go",
        "      f3.py:3 in go",
        "      f4.py:4 in go",
    ]


def test_a_long_value_is_cut() -> None:
    text = format_entry(line(drift=["x" * 500]), API).plain
    assert len(text) < 250
    assert text.endswith("…")


def test_a_line_that_is_not_a_log_line_is_shown_unchanged() -> None:
    for text in ("Traceback (most recent call last):", "7", "[bold]{}[/bold]", '{"no": "event"}'):
        assert format_entry(text, API).plain.endswith(f"│ {text}")


def test_parts_that_start_and_stop_well_are_not_shown() -> None:
    assert is_quiet(line(event="component started"))
    assert not is_quiet(line(event="component started", level="warning"))
    assert not is_quiet(line())
    assert not is_quiet("component started")


def test_requests_are_recognized() -> None:
    assert is_request(line(event="request"))
    assert not is_request(line())
    assert not is_request("request")
