"""Apply the rules to a passage."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.prose_check.passages import Kind, Passage

RULES = Path(__file__).with_name("rules.toml")
MAX_WORDS = 40
LONG_SENTENCE = "long-sentence"

_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!cf\.)(?<!\.\.)[\"')\]]*\s+")
_WORD = re.compile(r"[^\W_](?:[\w'./:,-]*[\w])?")
_LEADING = re.compile(r"[^\w]*")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that prose must not contain, with what to write instead.

    starts_sentence: matches only at the start of a sentence that is not a question.
    before, after: a sentence that the rule finds, and its rewrite.
    """

    name: str
    pattern: re.Pattern[str]
    starts_sentence: bool
    in_headings: bool
    reason: str
    instead: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in a file where a rule found something."""

    path: str
    line: int
    rule: str
    found: str
    reason: str
    instead: str


def load(path: Path = RULES) -> tuple[Rule, ...]:
    """Read the rules from a TOML file. A space in a pattern matches any white space."""
    tables = tomllib.loads(path.read_text())
    return tuple(
        Rule(
            name=name,
            pattern=re.compile(table["pattern"].replace(" ", r"\s+"), re.IGNORECASE),
            starts_sentence=table.get("start", False),
            in_headings=table.get("headings", True),
            reason=table["reason"],
            instead=table["instead"],
            before=table["before"],
            after=table["after"],
        )
        for name, table in tables.items()
    )


def check(path: str, passage: Passage, rules: tuple[Rule, ...]) -> Iterator[Hit]:
    """Yield the hits of all rules in one passage, and its sentences that are too long."""
    sentences = tuple(_sentences(passage.text))
    for rule in rules:
        if passage.kind is Kind.HEADING and not rule.in_headings:
            continue
        for start, end in _matches(rule, passage.text, sentences):
            found = " ".join(passage.text[start:end].split())
            yield Hit(path, passage.line_at(start), rule.name, found, rule.reason, rule.instead)
    for start, end in sentences:
        words = len(_WORD.findall(passage.text, start, end))
        if words > MAX_WORDS:
            found = " ".join(passage.text[start:end].split()[:6]) + " …"
            reason = f"The sentence has {words} words; {MAX_WORDS} are allowed."
            yield Hit(path, passage.line_at(start), LONG_SENTENCE, found, reason, "two sentences, or a list")


def _matches(rule: Rule, text: str, sentences: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    if not rule.starts_sentence:
        yield from (match.span() for match in rule.pattern.finditer(text))
        return
    for start, end in sentences:
        match = rule.pattern.match(text, start, end)
        if match and not text[start:end].rstrip("\"') \n").endswith("?"):
            yield match.span()


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each sentence, without quotes and brackets before its first word."""
    start = 0
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    for end in [*ends, len(text)]:
        leading = _LEADING.match(text, start, end)
        yield (leading.end() if leading else start), end
        start = end
