"""The names that the AWS provider of OpenTofu accepts, and what a module uses that it does not accept.

`just tofu-plan --names` reads them from the schema of the provider, which it builds, and writes those of the resources that
our modules use. The check itself needs neither the provider nor OpenTofu, so the fast gate runs it.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import hcl2

from infra.generated import INFRA

NAMES: Final = Path(__file__).parent / "provider.json"
TOFU: Final = INFRA / "tofu"
_META = frozenset({"for_each", "count", "depends_on", "lifecycle", "provider"})

type Fields = Mapping[str, Any]
"""The arguments of a resource or a block. `required`: it must be given. `fields`: the arguments of a block."""


def used_types(folder: Path = TOFU) -> set[str]:
    """Return the resources and data sources of all modules; a data source begins with `data.`."""
    return {kind for module in modules(folder) for kind, _, _ in resources(module)}


def modules(folder: Path = TOFU) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())


def resources(module: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield type, name and body of each resource and data source of a module."""
    for path in sorted(module.glob("*.tf")):
        with path.open() as file:
            parsed = hcl2.load(file)
        for section, prefix in (("resource", ""), ("data", "data.")):
            for block in parsed.get(section, []):
                for kind, named in block.items():
                    for name, body in named.items():
                        yield prefix + kind.strip('"'), name.strip('"'), body


def read_names(schema: Mapping[str, Any], kinds: set[str]) -> dict[str, Fields]:
    """Return the arguments of resources, from the schema that `tofu providers schema -json` prints."""
    return {kind: _fields(_block(schema, kind)) for kind in sorted(kinds)}


def _block(schema: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    section = "data_source_schemas" if kind.startswith("data.") else "resource_schemas"
    found: Mapping[str, Any] = schema[section][kind.removeprefix("data.")]["block"]
    return found


def _fields(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a block and its nested blocks. What AWS alone sets is no argument."""
    found: dict[str, Any] = {
        name: {"required": True} if each.get("required") else {}
        for name, each in block.get("attributes", {}).items()
        if each.get("required") or each.get("optional")
    }
    for name, nested in block.get("block_types", {}).items():
        needed = {"required": True} if nested.get("min_items") else {}
        found[name] = {**needed, "fields": _fields(nested["block"])}
    return found


def unknown_names(module: Path, known: Mapping[str, Fields]) -> list[str]:
    """Return what the provider would refuse: unknown resources and arguments, and required arguments that are missing."""
    found: list[str] = []
    for kind, name, body in resources(module):
        place = f"{module.name}: {kind}.{name}"
        if kind not in known:
            found.append(f"{place}: unknown resource")
        else:
            arguments = {argument: value for argument, value in body.items() if argument not in _META}
            found += _unknown_in(place, arguments, known[kind])
    return found


def _unknown_in(place: str, body: Mapping[str, Any], fields: Fields) -> list[str]:
    given = _arguments(body)
    found = [
        f"{place}: {name} is missing"
        for name, each in fields.items()
        if each.get("required") and name not in given
    ]
    for name, value in given.items():
        if name not in fields:
            found.append(f"{place}: unknown argument {name}")
        elif "fields" in fields[name]:
            for block in value if isinstance(value, list) else [value]:
                found += _unknown_in(f"{place}.{name}", block, fields[name]["fields"])
    return found


def _arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a body; a dynamic block is an argument with its content."""
    given = {name: value for name, value in body.items() if not name.startswith("__") and name != "dynamic"}
    for block in body.get("dynamic", []):
        for name, dynamic in block.items():
            given[name.strip('"')] = dynamic["content"]
    return given


def known_names() -> Mapping[str, Fields]:
    found: Mapping[str, Fields] = json.loads(NAMES.read_text())["resources"]
    return found


def write_names(schema: Mapping[str, Any], version: str) -> None:
    names = {"version": version, "resources": read_names(schema, used_types())}
    NAMES.write_text(json.dumps(names, indent=1, sort_keys=True) + "\n")
