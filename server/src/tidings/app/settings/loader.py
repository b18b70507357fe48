"""Read the settings: defaults, then what the local engines wrote, then the TOML file, then the environment.

Later sources win. All faults are collected before any is reported, so that one run shows them all.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from tidings.app.settings.model import EnginesSettings, Settings
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret

CONFIG_FILE = "tidings.toml"
ENDPOINTS_FILE = "endpoints.toml"
ENV_PREFIX = "TIDINGS_"
ENV_CONFIG = "TIDINGS_CONFIG"
ENV_FAILPOINTS = "TIDINGS_FAILPOINTS_"
ENV_TOKEN = "TIDINGS_TOKEN"  # noqa: S105 - the name of a variable that clients read

type Key = tuple[str, str]
"""Section and name. `TOP` is the section of the keys at the top of the file."""

TOP = ""
INSTALLATION: Key = (TOP, "installation")
FAILPOINTS: Key = (TOP, "failpoints")
_FIELDS = msgspec.structs.fields(Settings)
SECTIONS: dict[str, type[msgspec.Struct]] = {
    f.name: f.type for f in _FIELDS if (TOP, f.name) not in (INSTALLATION, FAILPOINTS)
}
FIELDS: dict[Key, msgspec.structs.FieldInfo] = {
    (TOP, f.name): f for f in _FIELDS if f.name not in SECTIONS
} | {(section, f.name): f for section, struct in SECTIONS.items() for f in msgspec.structs.fields(struct)}


@dataclass(frozen=True)
class RawValue:
    """A value as some source gave it."""

    value: object
    source: str
    text: str

    @property
    def is_text(self) -> bool:
        return self.source == "environment"


@dataclass
class LoadedSettings:
    """The settings, and for each value that is not a default the source it came from."""

    settings: Settings
    sources: dict[Key, str]


@dataclass
class _SettingsReader:
    given: dict[Key, RawValue] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def take(self, key: Key, value: RawValue) -> None:
        if key in FIELDS:
            self.given[key] = value
        else:
            self.faults.append(f"{value.text}: no such setting{did_you_mean(key, value)} (in {value.source})")


def load(environ: Mapping[str, str] | None = None, directory: Path | None = None) -> LoadedSettings:
    """Read and check everything; raises `settings_invalid` with all faults at once."""
    environ = os.environ if environ is None else environ
    directory = directory or Path.cwd()
    reading = _SettingsReader()
    _read_file(reading, environ, directory)
    _read_environment(reading, environ)
    _read_endpoints(reading, directory)
    settings = _build(reading)
    if reading.faults or settings is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "\n".join(["The settings have faults:", *(f"  - {fault}" for fault in reading.faults)]),
            hint="docs/reference/settings.md lists every setting with its meaning.",
            details={"faults": reading.faults},
        )
    return LoadedSettings(settings, {key: given.source for key, given in reading.given.items()})


def dotted_name(key: Key) -> str:
    """Return the name of a setting as users write it, such as `api.port`."""
    return ".".join(part for part in key if part)


def env_name(key: Key) -> str:
    return f"{ENV_PREFIX}{'_'.join(part for part in key if part)}".upper()


def did_you_mean(key: Key, value: RawValue) -> str:
    known = [env_name(k) if value.is_text else dotted_name(k) for k in FIELDS]
    close = difflib.get_close_matches(
        value.text if value.is_text else dotted_name(key), known, n=1, cutoff=0.75
    )
    return f"; did you mean {close[0]}?" if close else ""


def _read_file(reading: _SettingsReader, environ: Mapping[str, str], directory: Path) -> None:
    named = environ.get(ENV_CONFIG)
    path = Path(named) if named else directory / CONFIG_FILE
    if not path.exists():
        if named:
            reading.faults.append(f"{ENV_CONFIG}: there is no file {path}")
        return
    _read_toml(reading, path, str(path))


def _read_toml(reading: _SettingsReader, path: Path, source: str) -> None:
    try:
        content = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        reading.faults.append(f"{path}: {error}")
        return
    for key, value in _flatten(reading, content, source):
        reading.take(key, RawValue(value, source, dotted_name(key)))


def _flatten(
    reading: _SettingsReader, content: Mapping[str, object], source: str
) -> Iterator[tuple[Key, object]]:
    for section, table in content.items():
        if (TOP, section) in FIELDS:
            yield (TOP, section), table
        elif section not in SECTIONS:
            close = difflib.get_close_matches(section, SECTIONS, n=1)
            hint = f"; did you mean [{close[0]}]?" if close else ""
            reading.faults.append(f"[{section}]: no such section{hint} (in {source})")
        elif isinstance(table, Mapping):
            yield from (((section, str(name)), value) for name, value in table.items())
        else:
            reading.faults.append(f"{section}: is a section, write [{section}] (in {source})")


def _read_environment(reading: _SettingsReader, environ: Mapping[str, str]) -> None:
    by_name = {env_name(key): key for key in FIELDS}
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX) or name in (ENV_CONFIG, ENV_TOKEN):
            continue
        if name.startswith(ENV_FAILPOINTS):  # parameters of the module that a test loads
            continue
        section, _, rest = name.removeprefix(ENV_PREFIX).lower().partition("_")
        reading.take(by_name.get(name, (section, rest)), RawValue(environ[name], "environment", name))


def _read_endpoints(reading: _SettingsReader, directory: Path) -> None:
    """Take what `tidings engines start` wrote; everything else that is set wins over it.

    Engines that it runs make the installation one for development, unless the tables are elsewhere.
    """
    chosen = reading.given.get(("engines", "data_dir"))
    data_dir = EnginesSettings().data_dir if chosen is None else Path(str(chosen.value))
    path = directory / data_dir / ENDPOINTS_FILE
    if not path.exists():
        return
    running = _SettingsReader()
    _read_toml(running, path, "running engines")
    reading.faults += running.faults
    if ("dynamo", "endpoint") in reading.given:
        running.given.pop(INSTALLATION, None)
    reading.given = running.given | reading.given


def _build(reading: _SettingsReader) -> Settings | None:
    values: dict[str, dict[str, object]] = {section: {} for section in (TOP, *SECTIONS)}
    for key, given in reading.given.items():
        try:
            values[key[0]][key[1]] = _convert(given, FIELDS[key].type)
        except (msgspec.ValidationError, ValueError) as error:
            reading.faults.append(f"{given.text}: {_reason(key, given, error)} (in {given.source})")
    if reading.faults:
        return None
    top = values.pop(TOP)
    settings = Settings(**top, **{section: SECTIONS[section](**given) for section, given in values.items()})  # type: ignore[arg-type]
    _refuse_failpoints(reading, settings)
    return settings


def _refuse_failpoints(reading: _SettingsReader, settings: Settings) -> None:
    if settings.installation == "production":
        reading.faults += [
            f"{given.text}: is refused in production; tests set {env_name(INSTALLATION)}=development"
            for key, given in reading.given.items()
            if key == FAILPOINTS
        ]


def _convert(value: RawValue, wanted: Any) -> object:  # noqa: ANN401 - a type form; typing has no name for it yet
    return msgspec.convert(value.value, wanted, strict=not value.is_text, dec_hook=_decode)


def _decode(wanted: type, value: object) -> object:
    if wanted in (Path, Secret) and isinstance(value, str):
        return wanted(value)
    raise ValueError(f"expected text, got {type(value).__name__}")


def _is_secret(key: Key) -> bool:
    return "Secret" in str(FIELDS[key].type)


def _reason(key: Key, value: RawValue, error: Exception) -> str:
    """Say what was expected and what was given instead; a secret's value is not shown."""
    if allowed := choices(key):
        return f"expected one of {', '.join(allowed)}; got {value.value!r}"
    text = str(error).replace("`", "")
    text = text[:1].lower() + text[1:]
    return text if _is_secret(key) else f"{text.partition(', got ')[0]}, got {value.value!r}"


def choices(key: Key) -> list[str]:
    """Return the allowed values of a setting, or an empty list if any value is allowed."""
    info = inspect.type_info(FIELDS[key].type)
    inner = info.type if isinstance(info, inspect.Metadata) else info
    options = inner.types if isinstance(inner, inspect.UnionType) else (inner,)
    allowed = [option.values for option in options if isinstance(option, inspect.LiteralType)]
    if any(isinstance(option, inspect.BoolType) for option in options):
        return ["true", "false"]
    return [str(value) for values in allowed for value in values]


def rows(loaded: LoadedSettings) -> Iterator[tuple[str, str, str]]:
    """Yield setting, value and source of each setting. Secrets are masked."""
    for key in FIELDS:
        section, name = key
        value = getattr(getattr(loaded.settings, section) if section else loaded.settings, name)
        yield dotted_name(key), format_value(value), loaded.sources.get(key, "default")


def format_value(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
