"""Links in messages, and what a page says about itself. Pure.

Pages come from anyone. The patterns are bounded and linear, so that no page takes long.
"""

import hashlib
import html
import re
from typing import NamedTuple
from urllib.parse import urljoin

from msgspec import Struct

MAX_URL_CHARS = 2_000
MAX_TITLE_CHARS = 200
MAX_DESCRIPTION_CHARS = 500
_LINK = re.compile(r"https?://[^\s<>\"'`\\^{|}]{1,2000}", re.IGNORECASE)
_AFTER_LINK = ".,;:!?)]*_~"
# A match ends at the next `<`, so that many beginnings do not each read the rest of the page.
_META = re.compile(r"<meta\s([^<>]{1,4000})>", re.IGNORECASE)
_TITLE = re.compile(r"<title(?:\s[^<>]{0,500})?>([^<]{1,2000})", re.IGNORECASE)
# A name begins after another character, so that the end of a long name is not tried at each of its letters.
_ATTRIBUTE = re.compile(
    r"(?<![a-z:-])([a-z:-]{1,40})\s{0,5}=\s{0,5}(?:\"([^\"]{0,3000})\"|'([^']{0,3000})'|([^\s\"'>]{1,500}))",
    re.IGNORECASE,
)
_SPACES = re.compile(r"[\s\x00-\x1f\x7f]+")


class LinkPreview(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Title, description and picture of a page. Without a title it is not shown. `image`: a small picture as a `data:` URL."""

    url: str
    title: str = ""
    description: str = ""
    image: str | None = None


class PageFacts(NamedTuple):
    title: str = ""
    description: str = ""
    image_url: str | None = None


def first_link(text: str) -> str | None:
    """Return the first URL in a text, without punctuation after it and without a fragment."""
    found = _LINK.search(text)
    if found is None:
        return None
    url = found.group().partition("#")[0].rstrip(_AFTER_LINK)
    return url if len(url) <= MAX_URL_CHARS else None


def link_key(url: str) -> str:
    """Return a name for the URL that keys and logs may contain."""
    return hashlib.sha256(url.encode()).hexdigest()[:26]


def read_page(page: str, url: str) -> PageFacts:
    """Return title, description and picture of an HTML page: those for previews (Open Graph) if it has them."""
    named: dict[str, str] = {}
    for tag in _META.finditer(page):
        values = {name.lower(): "".join(value) for name, *value in _ATTRIBUTE.findall(tag.group(1))}
        name = values.get("property") or values.get("name")
        if name and "content" in values:
            named.setdefault(name.lower(), values["content"])
    title = _TITLE.search(page)
    image = named.get("og:image") or named.get("twitter:image")
    return PageFacts(
        _cleaned(named.get("og:title") or (title.group(1) if title else ""), MAX_TITLE_CHARS),
        _cleaned(named.get("og:description") or named.get("description", ""), MAX_DESCRIPTION_CHARS),
        _absolute(url, html.unescape(image)) if image else None,
    )


def _cleaned(text: str, limit: int) -> str:
    plain = _SPACES.sub(" ", html.unescape(text)).strip()
    return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"


def _absolute(url: str, image: str) -> str | None:
    try:
        found = urljoin(url, image.strip()).partition("#")[0]
    except ValueError:
        return None
    return found if len(found) <= MAX_URL_CHARS else None
