"""The configuration of an inbox: title, categories, channels, message schema, retention. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from tidings.inboxes.message_schema import check_schema
from tidings.inboxes.model import UNCATEGORISED, InboxId
from tidings.inboxes.preferences import (
    PLAIN_CATEGORY,
    CategorySettings,
    Channel,
    UserPreferences,
    resolve_channels,
)
from tidings.kernel.errors import Code, TidingsError

MAX_CATEGORIES = 50
"""Over the life of an inbox. Rows store the code of their category, so a code is never reused."""
MAX_SCHEMA_BYTES = 32 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_CATEGORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class InboxSpec(Struct, frozen=True, kw_only=True):
    """The complete description of an inbox by its tenant."""

    title: Annotated[str, Meta(min_length=1, max_length=64)]
    description: Annotated[str, Meta(max_length=256)] = ""
    categories: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    retention_days: Annotated[int, Meta(ge=1, le=3650)] | None = None
    expires_after_s: Annotated[int, Meta(ge=1, le=315_360_000)] | None = None
    default_category: str | None = None
    is_for_known_users: bool = False
    channels: Mapping[Channel, bool] = {}
    category_settings: Mapping[str, CategorySettings] = {}


class InboxDefaults(Struct, frozen=True, kw_only=True):
    """Values for new inboxes of a tenant. A change does not affect existing inboxes."""

    retention_days: Annotated[int, Meta(ge=1, le=3650)] | None = None
    is_for_known_users: bool = False
    channels: Mapping[Channel, bool] = {}
    version: int = 0
    created_ms: int = 0
    updated_ms: int = 0


class Inbox(Struct, frozen=True, kw_only=True):
    """`codes` has every category since the inbox was created. New notifications cannot use `retired` ones."""

    id: InboxId
    title: str
    description: str = ""
    codes: Mapping[str, int] = {}
    retired: frozenset[int] = frozenset()
    schema: Mapping[str, Any] | None = None
    schema_version: int = 0
    retention_days: int | None = None
    expires_after_s: int | None = None
    default_category: str | None = None
    is_for_known_users: bool = False
    """Users without a profile receive no notifications."""
    channels: Mapping[Channel, bool] = {}
    category_settings: Mapping[str, CategorySettings] = {}
    version: int = 0
    created_ms: int = 0
    updated_ms: int = 0

    @property
    def categories(self) -> list[str]:
        return [name for name, code in self.codes.items() if code not in self.retired]

    def name_of(self, code: int) -> str | None:
        return next((name for name, each in self.codes.items() if each == code), None)

    def settings_of(self, code: int) -> CategorySettings:
        return self.category_settings.get(self.name_of(code) or "", PLAIN_CATEGORY)

    def channels_for(
        self, code: int, preferences: UserPreferences, *, is_critical: bool = False
    ) -> dict[Channel, bool]:
        """Return whether each channel is on for a user's notifications of a category."""
        return resolve_channels(
            self.channels, self.settings_of(code), preferences, code, is_critical=is_critical
        )

    def code_of(self, name: str) -> int:
        """Return the code of a category, also of a retired one. Raises `request_invalid`."""
        code = self.codes.get(name)
        if code is None:
            raise TidingsError(Code.REQUEST_INVALID, f"Inbox `{self.id}` has no category `{name}`.")
        return code

    def code_to_send(self, name: str | None) -> int:
        """Return the category code of a new notification. Raises `request_invalid` for a retired category."""
        chosen = name or self.default_category
        if chosen is None:
            return UNCATEGORISED
        code = self.code_of(chosen)
        if code in self.retired:
            raise TidingsError(Code.REQUEST_INVALID, f"Category `{chosen}` is retired. Choose another.")
        return code


def check_inbox_id(text: str) -> InboxId:
    if _NAME.fullmatch(text) is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"Invalid inbox name {text!r}.",
            hint="Use 1 to 32 letters, digits, `.`, `_` and `-`. The first is a letter or a digit.",
        )
    return InboxId(text)


def apply_spec(inbox: InboxId, before: Inbox | None, spec: InboxSpec, now_ms: int) -> Inbox:
    """Return the inbox after a change. Category codes do not change; a changed schema gets the next version."""
    checked = _checked(spec)
    before = before or Inbox(id=inbox, title=checked.title, created_ms=now_ms)
    codes = _codes(before.codes, checked.categories)
    is_same = checked.schema == before.schema
    return replace(
        before,
        title=checked.title,
        description=checked.description,
        codes=codes,
        retired=frozenset(code for name, code in codes.items() if name not in checked.categories),
        schema=checked.schema,
        schema_version=before.schema_version + (0 if is_same else 1),
        retention_days=checked.retention_days,
        expires_after_s=checked.expires_after_s,
        default_category=checked.default_category,
        is_for_known_users=checked.is_for_known_users,
        channels=checked.channels,
        category_settings=checked.category_settings,
        updated_ms=now_ms,
        version=before.version + 1,
    )


def new_inbox(name: str, defaults: InboxDefaults) -> InboxSpec:
    return InboxSpec(
        title=name,
        retention_days=defaults.retention_days,
        is_for_known_users=defaults.is_for_known_users,
        channels=defaults.channels,
    )


def spec_of(inbox: Inbox) -> InboxSpec:
    """As it is, to be changed in parts."""
    return InboxSpec(
        title=inbox.title,
        description=inbox.description,
        categories=tuple(inbox.categories),
        schema=None if inbox.schema is None else dict(inbox.schema),
        retention_days=inbox.retention_days,
        expires_after_s=inbox.expires_after_s,
        default_category=inbox.default_category,
        is_for_known_users=inbox.is_for_known_users,
        channels=inbox.channels,
        category_settings=inbox.category_settings,
    )


def _checked(spec: InboxSpec) -> InboxSpec:
    try:
        spec = msgspec.convert(msgspec.to_builtins(spec), InboxSpec)
    except msgspec.ValidationError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Invalid inbox: {error}") from error
    for name in spec.categories:
        if _CATEGORY.fullmatch(name) is None:
            raise TidingsError(Code.REQUEST_INVALID, f"Invalid category name {name!r}.")
    if spec.default_category is not None and spec.default_category not in spec.categories:
        raise TidingsError(
            Code.REQUEST_INVALID, f"Default category `{spec.default_category}` is not in `categories`."
        )
    for name in spec.category_settings:
        if name not in spec.categories:
            raise TidingsError(
                Code.REQUEST_INVALID, f"`category_settings` names `{name}`, which is not in `categories`."
            )
    if spec.schema is not None:
        _check_size(spec.schema)
        check_schema(spec.schema)
    return spec


def _check_size(schema: Mapping[str, Any]) -> None:
    if len(msgspec.json.encode(schema)) > MAX_SCHEMA_BYTES:
        raise TidingsError(Code.REQUEST_INVALID, f"The schema is larger than {MAX_SCHEMA_BYTES} bytes.")


def _codes(codes: Mapping[str, int], names: Sequence[str]) -> dict[str, int]:
    known = dict(codes)
    for name in names:
        if name not in known:
            known[name] = len(known) + 1
    if len(known) > MAX_CATEGORIES:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"An inbox has at most {MAX_CATEGORIES} categories, including removed ones.",
        )
    return known
