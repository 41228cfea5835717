"""Posts whose pictures come by our own addresses.

A browser or a client that loads them elsewhere tells their servers who reads what, and when.
"""

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from common.html.tags import VALUES, attributes, written
from reader.media.pictures import media_path
from reader.rules.jf2 import Jf2, without_nothing

SHOWN_OF_PICTURES = ("alt", "width", "height", "title", "lang", "dir")
PICTURES = ("photo", "featured")
IMG = re.compile(f"<img({VALUES})>")


def html_by_proxy(html: str, *, site: str = "", **added: str) -> str:
    """Html that was cleaned when it came. `added` are attributes for each picture.

    `site` stands before our addresses, for programs that show them elsewhere.
    """

    def by_proxy(match: re.Match[str]) -> str:
        values = attributes(match[1])
        path = media_path(values.get("src", ""))
        if not path:
            return escape(values.get("alt", ""))
        kept = {name: values[name] for name in SHOWN_OF_PICTURES if name in values}
        return f"<img{written({'src': site + path, 'alt': '', **kept, **added})}>"

    return IMG.sub(by_proxy, html)


def jf2_by_proxy(jf2: Mapping[str, Any], *, site: str) -> Jf2:
    """A post as jf2, with those that it refers to. A picture that is none of the web is left out."""
    found = dict(jf2)
    for name in PICTURES:
        found[name] = pictures_by_proxy(found.get(name, ()), site=site)
    if author := found.get("author"):
        found["author"] = without_nothing(
            {**author, "photo": picture_by_proxy(author.get("photo"), site=site)}
        )
    content = found.get("content") or {}
    if html := content.get("html"):
        found["content"] = {**content, "html": html_by_proxy(html, site=site)}
    if refs := found.get("refs"):
        found["refs"] = {url: jf2_by_proxy(one, site=site) for url, one in refs.items()}
    return without_nothing(found)


def pictures_by_proxy(urls: Iterable[object], *, site: str = "") -> list[str]:
    """Our addresses of those that have one."""
    return [path for url in urls if (path := picture_by_proxy(url, site=site))]


def picture_by_proxy(url: object, *, site: str = "") -> str:
    """Our address of a picture; "" for what is none of the web."""
    path = media_path(str(url)) if url else ""
    return path and site + path
