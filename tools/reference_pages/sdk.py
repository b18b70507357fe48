"""Make the reference page of the SDK from its docstrings."""

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterator

import tidings_sdk

_INTRO = """# SDK for Python: classes and methods

Everything that `tidings_sdk` exports. Made from the docstrings; the [README](../../sdk-python/README.md) explains how the parts work together, [errors](errors.md) the codes.
"""


def sdk_page() -> str:
    parts = [_INTRO]
    for name in sorted(tidings_sdk.__all__, key=str.lower):
        parts += [f"## {name}\n", *_described(name, getattr(tidings_sdk, name))]
    return "\n".join(parts)


def _described(name: str, found: object) -> Iterator[str]:
    if not isinstance(found, type):
        yield from _module_or_alias(found)
        return
    yield f"```\n{_declared(name, found)}\n```\n"
    yield from _text(found)
    for member, value in vars(found).items():
        if not member.startswith("_"):
            yield from _member(member, value)


def _declared(name: str, found: type) -> str:
    if issubclass(found, enum.Enum):
        return "\n".join(f"{name}.{each.name} = {each.value!r}" for each in found)
    if issubclass(found, BaseException):
        return f"class {name}({', '.join(base.__name__ for base in found.__bases__)})"
    return f"{name}{_signature(found)}"


def _module_or_alias(found: object) -> Iterator[str]:
    if inspect.ismodule(found):
        yield from _text(found)
        for member, value in vars(found).items():
            if inspect.isfunction(value) and not member.startswith("_"):
                yield from _member(member, value)
        return
    value = getattr(found, "__value__", found)
    yield f"One of {', '.join(f'`{getattr(each, "__name__", each)}`' for each in _variants(value))}.\n"


def _variants(value: object) -> Iterator[type]:
    """Return the classes of a union, and those of unions within it."""
    for each in getattr(value, "__args__", ()):
        yield from _variants(each.__value__) if hasattr(each, "__value__") else [each]


def _member(name: str, value: object) -> Iterator[str]:
    if isinstance(value, property):
        yield f"### .{name}\n"
        yield from _text(value)
    elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        word = "await " if inspect.iscoroutinefunction(plain) else ""
        yield f"### {name}\n\n```\n{word}{name}{_signature(plain)}\n```\n"
        yield from _text(plain)


def _signature(found: object) -> str:
    """Parameters without `self`, and what is returned, as in the source."""
    if not callable(found):
        return ""
    said = inspect.signature(found)
    kept = [each for name, each in said.parameters.items() if name not in ("self", "cls")]
    returned = inspect.Signature.empty if isinstance(found, type) else said.return_annotation
    bare = said.replace(parameters=kept, return_annotation=returned)
    return _plain(str(bare))


def _plain(said: str) -> str:
    """Without modules before the names of classes, and the same under every version of Python."""
    said = re.sub(r"<([A-Z]\w*\.[A-Z_]+): [^>]*>", r"\1", said)
    said = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", said).replace("PosixPath(", "Path(")
    union = re.compile(r"Union\[((?:[^\[\]]|\[[^\]]*\])*)\]")
    return union.sub(lambda found: found[1].replace(", ", " | ").replace("NoneType", "None"), said)


def _text(found: object) -> Iterator[str]:
    is_inherited = isinstance(found, type) and vars(found).get("__doc__") is None
    text = "" if is_inherited else inspect.getdoc(found) or ""
    is_made = dataclasses.is_dataclass(found) and text.startswith(f"{getattr(found, '__name__', '')}(")
    if text and not is_made:
        yield f"{text}\n"
