"""Slack's markup as plain text, and its names of emoji."""

import re
from collections.abc import Callable, Mapping
from typing import Final

_TOKEN: Final = re.compile(r"<([^<>\s][^<>\n]{0,3000})>")
_SHORT_NAME: Final = re.compile(r":([a-z0-9_+'-]{1,80}):(?::skin-tone-[2-6]:)?")
_ENTITIES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

EMOJI_OF: Final[Mapping[str, str]] = {
    "+1": "👍", "thumbsup": "👍", "-1": "👎", "thumbsdown": "👎", "heart": "❤️", "joy": "😂", "smile": "😄",
    "grinning": "😀", "slightly_smiling_face": "🙂", "simple_smile": "🙂", "wink": "😉", "laughing": "😆",
    "rolling_on_the_floor_laughing": "🤣", "sweat_smile": "😅", "blush": "😊", "heart_eyes": "😍", "sunglasses": "😎",
    "thinking_face": "🤔", "cry": "😢", "sob": "😭", "disappointed": "😞", "scream": "😱", "rage": "😡", "tada": "🎉",
    "clap": "👏", "raised_hands": "🙌", "pray": "🙏", "wave": "👋", "ok_hand": "👌", "muscle": "💪", "point_up": "☝️",
    "eyes": "👀", "fire": "🔥", "rocket": "🚀", "100": "💯", "sparkles": "✨", "star": "⭐", "white_check_mark": "✅",
    "heavy_check_mark": "✔️", "x": "❌", "warning": "⚠️", "question": "❓", "exclamation": "❗", "bulb": "💡", "bug": "🐛",
    "coffee": "☕", "beer": "🍺", "beers": "🍻", "pizza": "🍕", "cake": "🍰", "birthday": "🎂", "gift": "🎁", "party_popper": "🎉",
    "partying_face": "🥳", "facepalm": "🤦", "shrug": "🤷", "see_no_evil": "🙈", "zany_face": "🤪", "hugging_face": "🤗",
    "broken_heart": "💔", "green_heart": "💚", "blue_heart": "💙", "purple_heart": "💜", "hourglass": "⌛", "lock": "🔒",
    "memo": "📝", "calendar": "📅", "chart_with_upwards_trend": "📈", "computer": "💻", "email": "📧", "link": "🔗",
    "arrow_up": "⬆️", "arrow_down": "⬇️", "sunny": "☀️", "rainbow": "🌈", "dog": "🐶", "cat": "🐱",
}  # fmt: skip
"""The names that are used most. Others, and those of a workspace, stay as `:name:`."""


def emoji_of(name: str) -> str:
    """Return the emoji of a reaction. Skin tones are dropped, because they would split the counts."""
    plain = name.partition("::")[0]
    return EMOJI_OF.get(plain, f":{plain}:")


def plain_text(markup: str, name_of: Callable[[str], str], on_mention: Callable[[str], None]) -> str:
    """Return a text without markup: `<@U1>` becomes `@Ada`, and a link its label and address.

    `on_mention` is called with the id of each user that the text mentions.
    """

    def replaced(found: re.Match[str]) -> str:
        body, _, label = found[1].partition("|")
        if body.startswith("@"):
            on_mention(body[1:])
            return f"@{name_of(body[1:])}"
        if body.startswith("#"):
            return f"#{label or body[1:]}"
        if body.startswith("!"):
            return _special(body[1:], label)
        return _link(body, label)

    text = _SHORT_NAME.sub(lambda found: EMOJI_OF.get(found[1], found[0]), _TOKEN.sub(replaced, markup))
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


def _special(body: str, label: str) -> str:
    """Return `@here`, the name of a group of users, or the text of a date."""
    if label:
        return label
    return f"@{body.partition('^')[0]}"


def _link(address: str, label: str) -> str:
    shown = address.removeprefix("mailto:")
    if not label or label in {shown, address, address.partition("://")[2].rstrip("/")}:
        return shown
    return f"{label} ({shown})"
