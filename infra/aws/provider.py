"""The names that the AWS provider of OpenTofu accepts, and what a module uses that it does not accept.

`python -m infra.aws.provider WHEEL` reads them from the wheel of `cdktf-cdktf-provider-aws`, which is generated from the schema
of the provider, and writes those of the resources that our modules use. The provider itself is not needed for the check.
"""

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import hcl2

from infra.generated import INFRA

NAMES: Final = Path(__file__).parent / "provider.json"
TOFU: Final = INFRA / "tofu"
_PACKAGE = "cdktf_cdktf_provider_aws"
_META = frozenset({"for_each", "count", "depends_on", "lifecycle", "provider"})
_INTERNAL = frozenset({"connection", "provisioners", "scope", "id_", "self"})

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


def read_names(wheel: Path, kinds: set[str]) -> dict[str, Fields]:
    """Return the arguments of resources, from the classes of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {kind: _read_resource(archive, kind) for kind in sorted(kinds)}


def _read_resource(archive: zipfile.ZipFile, kind: str) -> Fields:
    module = re.sub(r"^(data\.)?aws_", lambda found: "data_aws_" if found[1] else "", kind)
    text = archive.read(f"{_PACKAGE}/{module}/__init__.py").decode()
    classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    # The class of the resource is the first one. Its name is that of the module, at times with an `A` at its end.
    return _fields(classes, next(iter(classes)))


def _fields(classes: Mapping[str, ast.ClassDef], name: str) -> dict[str, Any]:
    [init] = [
        node for node in classes[name].body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]
    found: dict[str, Any] = {}
    for argument, default in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True):
        if argument.arg in _INTERNAL | _META:
            continue
        entry: dict[str, Any] = {"required": True} if default is None else {}
        nested = _nested(argument.annotation, classes, name)
        if nested:
            entry["fields"] = _fields(classes, nested)
        found[argument.arg] = entry
    return found


def _nested(annotation: ast.expr | None, classes: Mapping[str, ast.ClassDef], owner: str) -> str | None:
    """Return the class of a block, which the annotation names as a string."""
    if annotation is None:
        return None
    names = [str(node.value) for node in ast.walk(annotation) if isinstance(node, ast.Constant)]
    return next((each for each in names if each in classes and each != owner), None)


def unknown_names(module: Path, known: Mapping[str, Fields]) -> list[str]:
    """Return what the provider would refuse: unknown resources and arguments, and required arguments that are missing."""
    found: list[str] = []
    for kind, name, body in resources(module):
        place = f"{module.name}: {kind}.{name}"
        if kind not in known:
            found.append(f"{place}: unknown resource")
        else:
            found += _unknown_in(place, body, known[kind])
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
    given = {
        name: value
        for name, value in body.items()
        if not name.startswith("__") and name not in _META | {"dynamic"}
    }
    for block in body.get("dynamic", []):
        for name, dynamic in block.items():
            given[name.strip('"')] = dynamic["content"]
    return given


def known_names() -> Mapping[str, Fields]:
    found: Mapping[str, Fields] = json.loads(NAMES.read_text())["resources"]
    return found


def main() -> None:
    wheel = Path(sys.argv[1])
    names = {"version": wheel.name.split("-")[1], "resources": read_names(wheel, used_types())}
    NAMES.write_text(json.dumps(names, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
