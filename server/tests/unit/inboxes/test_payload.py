"""Validation of messages against schemas of tenants, also hostile ones: bounded work, and clear errors."""

import asyncio
import random
import time
from typing import Any

import pytest
from fixtures.loops import longest_pause_s

from tidings.inboxes import message_schema
from tidings.inboxes.message_schema import MAX_UNROLLED, check_payload, check_schema, count_unrolled
from tidings.inboxes.schema_process import SchemaProcess
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

ACME = TenantId("acme")
NEXT = {"$ref": "#/$defs/d{}"}
TWICE: dict[str, Any] = {
    "anyOf": {"anyOf": ["next", "next"]},
    "allOf": {"allOf": ["next", "next"]},
    "oneOf": {"oneOf": ["next", "next"]},
    "not": {"not": {"anyOf": ["next", "next"]}},
    "items": {"items": "next", "contains": "next"},
    "prefixItems": {"prefixItems": ["next", "next"]},
    "properties": {"properties": {"a": "next", "b": "next"}},
    "patternProperties": {"patternProperties": {"a": "next", "b": "next"}},
    "additionalProperties": {"additionalProperties": "next", "propertyNames": "next"},
    "dependentSchemas": {"dependentSchemas": {"title": "next", "x": "next"}},
    "if": {"if": "next", "then": "next", "else": "next"},
    "unevaluated": {"$ref": "#/$defs/d{}", "unevaluatedProperties": False},
}


def chain(kind: Any, levels: int) -> dict[str, Any]:
    """Return `levels` definitions, each of which refers to the next one twice."""

    def filled(part: Any, level: int) -> Any:
        if part == "next":
            return {"$ref": f"#/$defs/d{level}"}
        if isinstance(part, str):
            return part.format(level)
        if isinstance(part, dict):
            return {name: filled(each, level) for name, each in part.items()}
        return [filled(each, level) for each in part] if isinstance(part, list) else part

    defs = {f"d{level}": filled(kind, level + 1) for level in range(levels)}
    return {"$defs": defs | {f"d{levels}": {"const": "never"}}, "$ref": "#/$defs/d0"}


def refused(schema: dict[str, Any]) -> bool:
    """Tell whether the schema is valid. A rejection must be fast."""
    began, code = time.process_time(), None
    try:
        check_schema(schema)
    except TidingsError as error:
        code = error.code
    assert time.process_time() - began < 1
    assert code in {None, Code.REQUEST_INVALID}
    return code is not None


@pytest.mark.parametrize("kind", TWICE.values(), ids=TWICE.keys())
def test_a_chain_that_doubles_is_refused(kind: dict[str, Any]) -> None:
    assert not refused(chain(kind, 2))
    assert refused(chain(kind, 16))
    assert refused(chain(kind, 90))


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("anchor", ["$anchor", "$dynamicAnchor"])
def test_anchors_are_included_in_the_cost(keyword: str, anchor: str) -> None:
    levels: dict[str, Any] = {
        f"d{level}": {anchor: f"a{level}", "anyOf": [{keyword: f"#a{level + 1}"}] * 2} for level in range(16)
    }
    last = {"d16": {anchor: "a16", "const": "never"}}
    assert refused({"$defs": levels | last, keyword: "#a0"})


def test_a_loop_that_doubles_with_the_depth_of_the_message_is_refused() -> None:
    again = {"properties": {"x": {"$ref": "#"}}, "required": ["x"]}
    assert refused({"anyOf": [again, again]})
    assert not refused({"properties": {"text": {"type": "string"}, "replies": {"items": {"$ref": "#"}}}})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$ref": "other.json"},
        {"$ref": "#/$defs/none"},
        {"$ref": "#none"},
        {"$defs": {"a": {"$id": "https://example.com/a", "$ref": "#"}}, "$ref": "#/$defs/a"},
    ],
)
def test_a_schema_may_refer_only_to_itself(schema: dict[str, Any]) -> None:
    assert refused(schema)


def test_ordinary_schemas_are_far_below_the_bound() -> None:
    texts = {f"field{number}": {"type": "string", "maxLength": 100} for number in range(40)}
    schema = {"type": "object", "properties": texts, "required": sorted(texts), "additionalProperties": False}
    assert count_unrolled(schema) < MAX_UNROLLED / 20
    assert not refused({"$id": "https://example.com/root", "$defs": {"a": schema}, "$ref": "#/$defs/a"})


async def test_an_invalid_message_is_reported_with_its_location() -> None:
    schema: dict[str, Any] = {"properties": {"title": {"type": "string"}}, "required": ["title"]}
    await check_payload(ACME, schema, {"title": "hi"})
    await check_payload(ACME, None, {"anything": 1})
    with pytest.raises(TidingsError) as caught:
        await check_payload(ACME, schema, {"title": 3})
    assert caught.value.code is Code.CONTENT_INVALID
    assert caught.value.hint.startswith("title: ")


async def test_a_pattern_that_would_backtrack_for_ever_does_not() -> None:
    schema = {"properties": {"title": {"pattern": "^(a+)+$"}}}
    with pytest.raises(TidingsError):
        await check_payload(ACME, schema, {"title": "a" * 5_000 + "b"})


def automata(size: int, count: int) -> list[str]:
    """Return patterns that are small as texts. Their compiled sizes are some 70 bytes times `size`."""
    return [rf"[ab]*a[ab]{{{size - number}}}c" for number in range(count)]


BRANCHES = automata(8_000, 5)
TEXT = "".join(random.Random(1).choices("ab", k=16_000))


def any_of(keyword: str, patterns: list[str]) -> dict[str, Any]:
    """Return a schema that tries all patterns, as values or as names of properties."""
    if keyword == "pattern":
        return {"properties": {"p": {"anyOf": [{"pattern": each} for each in patterns]}}}
    return {"anyOf": [{"allOf": [{"patternProperties": {each: False}}, False]} for each in patterns]}


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_patterns_with_large_automata_are_refused(keyword: str) -> None:
    assert refused(any_of(keyword, BRANCHES))
    assert refused(any_of(keyword, BRANCHES[:1]))
    assert refused(any_of(keyword, automata(600, 10))), "too many"
    assert refused({"properties": {"a": {"pattern": "("}}})
    assert not refused(any_of(keyword, automata(600, 4)))
    assert not refused(any_of(keyword, [rf"^[a-z]{{1,40}}{n}$" for n in range(30)]))
    assert not refused({"const": {"pattern": "("}})


@pytest.mark.parametrize(
    "schema",
    [
        any_of("pattern", BRANCHES),  # stored before the bound
        any_of("pattern", automata(600, 4)),
        any_of("patternProperties", automata(600, 4)),
    ],
    ids=["stored", "values", "names"],
)
async def test_patterns_leave_the_loop_free(schema: dict[str, Any]) -> None:
    message = {"p": TEXT[:8_000], TEXT[:7_900]: 1}

    async def check() -> None:
        with pytest.raises(TidingsError) as caught:
            await check_payload(ACME, schema, message)
        assert caught.value.code is Code.CONTENT_INVALID

    # A busy machine delays some attempts, but not all.
    pauses = [await longest_pause_s(check()) for _ in range(3)]
    assert min(pauses) < 0.05, pauses


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "^x"}}},
        {"patternProperties": {"^x": False}},
        {"properties": {"a": {"format": "regex"}}},
        {"$defs": {"d": {"pattern": "^x"}}, "properties": {"a": {"$ref": "#/$defs/d"}}},
    ],
)
async def test_a_schema_with_a_pattern_is_checked_in_the_helper(
    schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    class Helper:
        async def errors(self, _tenant: TenantId, _schema: bytes, message: bytes) -> list[str]:
            asked.append(message)
            return []

    monkeypatch.setattr(message_schema, "_helper", Helper())
    await check_payload(ACME, schema, {"a": "x"})
    assert asked == [b'{"a":"x"}']
    await check_payload(ACME, {"properties": {"a": {"format": "email"}}}, {"a": "x"})
    assert len(asked) == 1


COSTLY: dict[str, Any] = {
    "properties": {"a": {"items": {"anyOf": [{"type": "string", "minLength": n + 2} for n in range(900)]}}}
}


async def test_a_costly_message_leaves_the_loop_free_and_ends_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_schema, "_helper", SchemaProcess(deadline_s=1))
    check_schema(COSTLY)
    checking = asyncio.create_task(check_payload(ACME, COSTLY, {"a": ["y"] * 3_500}))
    longest, before = 0.0, time.monotonic()
    while not checking.done():
        await asyncio.sleep(0.005)
        longest, before = max(longest, time.monotonic() - before), time.monotonic()
    with pytest.raises(TidingsError) as caught:
        await checking
    assert caught.value.code is Code.CONTENT_INVALID
    assert longest < 0.5, "the loop went on meanwhile"


async def test_a_costly_message_that_is_valid_passes() -> None:
    schema = {"properties": {"a": {"items": {"anyOf": [{"const": n} for n in range(200)]}}}}
    await check_payload(ACME, schema, {"a": [0] * 1_000})
    with pytest.raises(TidingsError) as caught:
        await check_payload(ACME, schema, {"a": [*[0] * 1_000, 500]})
    assert caught.value.hint.startswith("a/1000: ")


async def test_a_schema_that_was_stored_before_the_bound_accepts_nothing() -> None:
    with pytest.raises(TidingsError) as caught:
        await check_payload(ACME, chain(TWICE["anyOf"], 16), {"title": "x"})
    assert caught.value.code is Code.REQUEST_INVALID
