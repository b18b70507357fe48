"""The words and links that a tenant refuses or masks, as part of its settings."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class ListedTerm(Struct, frozen=True, kw_only=True):
    """A word or domain of a list, and what happens to a message that contains it."""

    text: Annotated[str, Meta(min_length=1, max_length=40)]
    action: Literal["mask", "refuse"] = "mask"


class ContentRules(Struct, frozen=True, kw_only=True):
    """Words and domains that messages and edits of the tenant must not contain. Literal texts, no patterns."""

    words: Annotated[tuple[ListedTerm, ...], Meta(max_length=100)] = ()
    domains: Annotated[tuple[ListedTerm, ...], Meta(max_length=50)] = ()
