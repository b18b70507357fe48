"""The documentation site has every page, operation, frame and error code, and only links that lead somewhere."""

import json
import posixpath
import re
from pathlib import Path

import pytest

from tidings.kernel.errors import Code
from tools.docs_site import diagrams, pages, site
from tools.docs_site.markdown import rewrite_links, summary, title

ROOT = pages.ROOT
CONTENT = pages.collect()
NAVIGATION = site.navigation(ROOT)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def documents(name: str) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    found: dict[str, dict[str, dict[str, dict[str, str]]]] = json.loads(
        (ROOT / "protocol" / name).read_text()
    )
    return found


def test_every_page_is_in_the_navigation_or_in_an_index() -> None:
    listed = set(site.pages_of(NAVIGATION))
    indexes = CONTENT.texts["reference/errors.md"] + CONTENT.texts["adr/index.md"]
    missing = [
        place for place in CONTENT.texts if place not in listed and posixpath.basename(place) not in indexes
    ]
    assert missing == []


def test_the_navigation_has_a_part_for_each_audience() -> None:
    parts = [name for part in NAVIGATION for name in part]
    assert parts == ["Overview", "Application developers", "Operators", "Support", "Contributors"]


@pytest.mark.parametrize("place", CONTENT.texts)
def test_links_of_a_page_lead_to_pages_and_files_of_the_site(place: str) -> None:
    targets: list[str] = []

    def keep(_mark: str, _label: str, target: str) -> str:
        targets.append(target)
        return ""

    rewrite_links(CONTENT.texts[place], keep)
    for target in targets:
        if not re.match(r"[a-z]+:|#|/", target):
            wanted = posixpath.normpath(posixpath.join(posixpath.dirname(place), target.partition("#")[0]))
            assert wanted in CONTENT.texts or wanted in CONTENT.files, f"{place}: {target}"


def test_every_operation_of_the_api_has_a_section_and_is_listed() -> None:
    text = "".join(text for place, text in CONTENT.texts.items() if place.startswith("reference/rest/"))
    found = [
        each["operationId"]
        for methods in documents("openapi.json")["paths"].values()
        for each in methods.values()
    ]
    assert len(found) > 80
    assert [name for name in found if text.count(f" {{ #{name} }}\n") != 1] == []
    assert [name for name in found if f"#{name})" not in CONTENT.texts["reference/rest.md"]] == []


def test_every_frame_has_a_section() -> None:
    text = CONTENT.texts["reference/frames.md"]
    operations = documents("asyncapi.json")["operations"]
    kinds = {"receive": "request", "send": "push"}
    anchors = [f"{kinds[name.partition('_')[0]]}-{name.partition('_')[2]}" for name in operations]
    assert len(anchors) > 25
    assert [anchor for anchor in anchors if text.count(f" {{ #{anchor} }}\n") != 1] == []


def test_every_error_code_has_a_page_with_its_status() -> None:
    for code in Code:
        assert f"[`{code}`](errors/{code}.md)" in CONTENT.texts["reference/errors.md"]
        assert "| HTTP status | " in CONTENT.texts[f"reference/errors/{code}.md"]


def test_llms_txt_lists_every_page_of_the_navigation_with_its_markdown() -> None:
    text = site.llms_text(CONTENT.texts, NAVIGATION)
    assert [place for place in site.pages_of(NAVIGATION) if f"]({place}): " not in text] == []


def test_every_concept_has_a_diagram() -> None:
    names = ("log", "positions", "delivery", "inbox", "broadcasts")
    assert [name for name in names if "#only-dark" not in CONTENT.texts[f"concepts/{name}.md"]] == []


def test_a_changed_diagram_must_be_drawn() -> None:
    text = "```mermaid\n%% Not drawn.\nflowchart LR\n    a --> b\n```\n"
    with pytest.raises(diagrams.MissingDiagramError, match="just docs diagrams"):
        diagrams.show_diagrams(text, "concepts/new.md", ROOT)


def test_no_picture_of_a_diagram_is_left_over() -> None:
    drawn = {path.name for path in (ROOT / diagrams.FOLDER).glob("*.svg")}
    used = {
        posixpath.basename(target.partition("#")[0])
        for text in CONTENT.texts.values()
        for target in LINK.findall(text)
    }
    assert drawn <= used


def test_links_in_code_stay_as_they_are() -> None:
    text = "[a](b.md)\n```\n[a](b.md)\n```\n"
    assert rewrite_links(text, lambda _mark, label, _target: label) == "a\n```\n[a](b.md)\n```\n"


def test_title_and_summary_are_plain_text() -> None:
    text = "---\nhide: toc\n---\n# Use `x`\n\nThe **first** [sentence](a.md): with `code`. The second.\n"
    assert title(text) == "Use x"
    assert summary(text) == "The first sentence: with code."


def test_scripts_styles_and_fonts_of_other_hosts_are_found(tmp_path: Path) -> None:
    page = '<script src="https://x.example/a.js"></script><img src="a.png"><a href="https://x.example">a link</a>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.css").write_text(
        "@font-face { src: url(//x.example/b.woff) } a { background: url(data:c) }"
    )
    assert site.foreign_assets(tmp_path) == [
        'a.html: <script src="https://x.example/a.js">',
        "b.css: url(//x.example/b.woff)",
    ]
