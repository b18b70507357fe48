import json
import textwrap
from pathlib import Path

import pytest

from tools.prose_check import exceptions, files, markdown, python, rules
from tools.prose_check.__main__ import folder_of, main
from tools.prose_check.passages import Kind, Passage
from tools.prose_check.rules import Hit

RULES = rules.load()

OLD = [
    ("who-start", "Who comes when so many are open is answered 503."),
    ("pronoun", "The user is shown the chats in which he is a member."),
    ("let-in", "This is not, or no longer, a way in."),
    ("whoever", "Whoever finds the lane idle works it himself, turn by turn, until he has his answer."),
    ("what-object", "Raises `DecodeError` for what is none of ours."),
    ("who-riddle", "Writes rows, pushes to gateways, and keeps messages for who is away."),
    ("told", "Push services were told, over the topic of the ones that got no push."),
    ("hold-against", "Every list that was read is held against what was done."),
    ("anew", "The draft follows the log entry by entry and is judged anew."),
    ("word", "Of each chat one word in a while, to every process that keeps it."),
]
"""Sentences in the former style of this repository, each with one rule that must find it."""

GOOD = [
    "Self-hosted chat and in-app notifications on DynamoDB, Kafka and Redis.",
    "Maximum number of open connections. Further connections receive 503.",
    "An acknowledged message is never lost, duplicated or reordered.",
    "Members who leave keep their history up to the sequence of their removal.",
    "The password is hashed; a keyword or a word list is not a password.",
    "Use the word of the field. A verb that means so many things that it says nothing is avoided.",
    "What is the head of a chat, and who may read it? Who may change it?",
    "TTL stands for time to live.",
    "The gateway tells the client to reconnect and cannot tell whether the client received the push.",
    "The two forms are told apart by their first byte.",
    "DynamoDB is the source of truth; Kafka and Redis are accelerators.",
    "Retrying with the same idempotency key returns the same broadcast.",
    "Track how far this worker has processed each chat.",
    "Is there a lease for this shard? If not, the worker acquires one.",
    "The server signs access tokens with an Ed25519 key.",
    "The client notices that the connection was closed and reconnects with backoff.",
    "Checkpoint unknown: earlier entries may be unpushed, so pushing this one would reorder them.",
    "Frames go on the wire as JSON; a frame over 64 KB is rejected.",
    "Record who reads the broadcast, and decide who may send one.",
    "Cannot listen on 127.0.0.1:8080: address already in use. Set `api.port` or TIDINGS_API_PORT.",
]


def found(text: str, kind: Kind = Kind.MARKDOWN) -> list[str]:
    return [hit.rule for hit in rules.check("page.md", Passage(1, text, kind), RULES)]


@pytest.mark.parametrize(("rule", "sentence"), OLD)
def test_a_sentence_of_the_old_kind_is_found(rule: str, sentence: str) -> None:
    assert rule in found(sentence)


@pytest.mark.parametrize("sentence", GOOD)
def test_plain_english_passes(sentence: str) -> None:
    assert found(sentence) == []


def test_every_rule_finds_its_example_and_accepts_the_rewrite() -> None:
    assert [rule.name for rule in RULES if rule.name not in found(rule.before)] == []
    assert {rule.name: found(rule.after) for rule in RULES if found(rule.after)} == {}


def test_the_reasons_and_suggestions_of_the_rules_are_sentences_and_words() -> None:
    assert [rule.name for rule in RULES if not rule.reason.endswith(".") or rule.instead.endswith(".")] == []


def test_a_sentence_may_have_forty_words() -> None:
    assert found(" ".join(["word"] * 40) + ". " + " ".join(["word"] * 40) + ".") == []
    assert found(" ".join(["word"] * 41) + ".") == ["long-sentence"]


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    assert found(" ".join(["word"] * 30) + " e.g. " + " ".join(["word"] * 11)) == ["long-sentence"]


def test_a_match_may_span_a_line_break_and_has_the_line_of_its_first_word() -> None:
    passage = Passage(7, "The result\nis held\nagainst the log.", Kind.DOCSTRING)
    assert [(hit.line, hit.found) for hit in rules.check("x.py", passage, RULES)] == [(8, "held against")]


def in_markdown(text: str) -> list[tuple[int, str]]:
    return [
        (hit.line, hit.rule)
        for passage in markdown.passages(textwrap.dedent(text))
        for hit in rules.check("page.md", passage, RULES)
    ]


def test_markdown_headings_paragraphs_lists_quotes_and_cells_are_checked() -> None:
    page = """\
        # Told

        The first line
        is told.

        - One item
        - is told
        > a quote, told

        | a | b |
        |---|---|
        | x | told |
        """
    assert in_markdown(page) == [(line, "told") for line in (1, 4, 7, 8, 12)]


def test_markdown_code_links_and_comments_are_not_checked() -> None:
    page = """\
        Call `told` or ``he `said` ``, or read [the page](told.md) at https://told.example/he.

        ```python
        told = 1  # he
        ```

        - a list item with code:
          ```
          told
          ```

        <!-- told -->

        | `a | told` | b |
        |---|---|
        """
    assert in_markdown(page) == []


def test_emphasis_does_not_hide_a_word_and_list_items_are_not_joined() -> None:
    assert in_markdown("**Who** is *told* of it.") == [(1, "who-start"), (1, "told")]
    assert in_markdown("\n".join(f"- {'word ' * 20}" for _ in range(3))) == []


def in_python(source: str, *, with_texts: bool = True) -> list[tuple[int, str]]:
    return [
        (hit.line, hit.rule)
        for passage in python.passages(textwrap.dedent(source), with_texts=with_texts)
        for hit in rules.check("x.py", passage, RULES)
    ]


def test_docstrings_comments_and_attribute_docstrings_are_checked() -> None:
    source = '''\
        """The module is told."""

        class A:
            """Good.

            Bad: he is.
            """

            limit = 1
            """So many."""
            # two lines that
            # stand here
            x = 1  # noqa: S311 - told so
            y = 2  # type: ignore[told]
        '''
    expected = {(1, "told"), (6, "pronoun"), (10, "so-many"), (12, "stand"), (13, "told")}
    assert set(in_python(source)) == expected


@pytest.mark.parametrize(
    "line",
    [
        'raise TidingsError(Code.X, "Somebody else")',
        'raise ValueError(f"told {name}")',
        '@click.option("--x", help="Told.")\ndef f(): ...',
        'route(summary="One\'s chats")',
        'Field(description="Whose user")',
        'region: Annotated[str, Meta(description="Told.")] = ""',
        'log.info("told", reason=1)',
        'metrics.counter("pushes", "Pushes that were heard, by kind.")',
        'TEXTS = {"a": "the job is over now"}',
        'echo(f"{count} are told of it")',
    ],
)
def test_texts_that_users_and_operators_see_are_checked(line: str) -> None:
    assert in_python(line)


def test_names_and_short_strings_elsewhere_are_not_checked() -> None:
    assert in_python('told = he["told"] if kind == "told off" else stand.his') == []


def test_json_is_not_checked() -> None:
    assert in_python("""FRAME = '{"told":{"by":"the one who is told"}}'""") == []


def test_the_strings_of_tests_are_not_checked(tmp_path: Path) -> None:
    source = tmp_path / "test_x.py"
    source.write_text('TEXT = "he is told of it"\n')
    assert list(files.passages(source, "server/tests/unit/test_x.py")) == []
    assert len(list(files.passages(source, "server/src/tidings/x.py"))) == 1


def test_comments_of_other_files_are_checked(tmp_path: Path) -> None:
    recipes = tmp_path / "justfile"
    recipes.write_text("# what is\n# told\ncheck:\n    run told  # mended\n")
    [first, second] = list(files.passages(recipes, "justfile"))
    assert (first.line, first.text, second.line, second.text) == (1, "what is\ntold", 4, "mended")


def hit(path: str, rule: str) -> Hit:
    return Hit(path, 1, rule, "x", "y", "z")


def test_an_exception_covers_its_paths_and_its_rule() -> None:
    text = "# comment\ndocs/*.md told quotes\nserver/* * generated\n"
    listed, problems = exceptions.load(text, ["told", "stand"])
    hits = [hit("docs/a.md", "told"), hit("docs/a.md", "stand"), hit("server/x/y.py", "stand")]
    assert problems == []
    assert exceptions.apply(hits, listed) == ([hits[1]], [])


def test_an_exception_that_covers_nothing_is_reported() -> None:
    listed, _ = exceptions.load("docs/*.md told quotes\n", ["told"])
    [unused] = exceptions.apply([], listed)[1]
    assert unused.line == 1


def test_bad_exceptions_and_too_many_are_reported() -> None:
    _, problems = exceptions.load("docs/a.md told\ndocs/b.md tolld reason\n", ["told"])
    assert [problem.line for problem in problems] == [1, 2]
    _, problems = exceptions.load("docs/a.md told reason\n" * 31, ["told"])
    assert [problem.line for problem in problems] == [31]


def test_the_exceptions_of_this_repository_are_well_formed() -> None:
    names = [rules.LONG_SENTENCE, *(rule.name for rule in RULES)]
    assert exceptions.load(exceptions.EXCEPTIONS.read_text(), names)[1] == []


def test_the_command_prints_hits_and_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools/prose_check/rules.py"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["--json", "tools"]) == 0
    assert json.loads(capsys.readouterr().out) == {"hits": 0, "rules": {}, "folders": {}}
    assert main(["--rules"]) == 0
    assert "before: " in capsys.readouterr().out


def test_the_command_fails_if_there_are_hits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        files, "hits", lambda *_: [hit("docs/howto/a.md", "told"), hit("docs/howto/b.md", "told")]
    )
    assert main([]) == 1
    assert capsys.readouterr().out.startswith("docs/howto/a.md:1: told: “x”. y Write: z.")
    assert main(["--count"]) == 1
    assert "2  docs/howto\n         told 2\n" in capsys.readouterr().out


def test_hits_are_counted_by_subject_of_the_server_and_by_folder() -> None:
    paths = [
        "server/src/tidings/gateway/resume/resume.py",
        "docs/howto/a.md",
        "README.md",
        "harness/src/x/y.py",
    ]
    assert [folder_of(path) for path in paths] == [
        "server/src/tidings/gateway",
        "docs/howto",
        ".",
        "harness/src",
    ]
