"""The settings for people: `config show` (what holds, and from where) and `config doc` (what there is)."""

from collections.abc import Iterator

from msgspec import inspect

from tidings.run.settings.load import (
    FIELDS,
    SECTIONS,
    TOP,
    Key,
    LoadedSettings,
    choices,
    dotted_name,
    env_name,
)

SOURCES = (
    "Sources, later ones win: defaults; the local engines, if `tidings engines start` runs them; "
    "`tidings.toml` in the working directory, or the file that `TIDINGS_CONFIG` names; the environment. "
    "Unknown keys are refused."
)


def rows(loaded: LoadedSettings) -> Iterator[tuple[str, str, str]]:
    """(setting, value, source) for each; secrets show as stars."""
    for key in FIELDS:
        section, name = key
        value = getattr(getattr(loaded.settings, section) if section else loaded.settings, name)
        yield dotted_name(key), format_value(value), loaded.sources.get(key, "default")


def format_value(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_page() -> str:
    """The reference page of the settings, in Markdown."""
    lines = [
        "# Settings",
        "",
        "Written by `tidings config doc`; a test holds this page against the code.",
        "",
        SOURCES,
        "",
        "## Top of the file",
        "",
        *_table(TOP),
    ]
    for section, struct in SECTIONS.items():
        lines += ["", f"## [{section}]", "", (struct.__doc__ or "").strip(), ""]
        lines += _table(section)
    return "\n".join(lines).rstrip() + "\n"


def _table(section: str) -> list[str]:
    keys = [key for key in FIELDS if key[0] == section]
    if not keys:
        return ["Nothing yet."]
    head = ["| key | environment | default | meaning |", "|---|---|---|---|"]
    return head + [f"| `{key[1]}` | `{env_name(key)}` | {_default(key)} | {_meaning(key)} |" for key in keys]


def _default(key: Key) -> str:
    default = FIELDS[key].default
    return "" if default is None else f"`{format_value(default)}`"


def _meaning(key: Key) -> str:
    info = inspect.type_info(FIELDS[key].type)
    meta = info.extra_json_schema if isinstance(info, inspect.Metadata) else None
    text = str((meta or {}).get("description", ""))
    allowed = (
        "" if isinstance(FIELDS[key].default, bool) else ", ".join(f"`{value}`" for value in choices(key))
    )
    return f"{text} One of {allowed}." if allowed else text
