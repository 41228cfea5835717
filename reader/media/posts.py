import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from common.html.images import IMG, KEPT
from common.html.tags import attributes, written
from reader.media.pictures import media_path
from reader.rules.jf2 import Jf2, without_nothing

PICTURES = ("photo", "featured")


def html_by_proxy(html: str, *, site: str = "", **added: str) -> str:
    """Proxy the pictures of sanitized HTML, and add attributes. `site` precedes their paths."""

    def by_proxy(match: re.Match[str]) -> str:
        values = attributes(match[1])
        path = media_path(values.get("src", ""))
        if not path:
            return escape(values.get("alt", ""))
        kept = {name: values[name] for name in KEPT if name in values}
        return f"<img{written({'src': site + path, 'alt': '', **kept, **added})}>"

    return IMG.sub(by_proxy, html)


def jf2_by_proxy(jf2: Mapping[str, Any], *, site: str) -> Jf2:
    """Proxy pictures, dropping others."""
    post = dict(jf2)
    for name in PICTURES:
        post[name] = pictures_by_proxy(post.get(name, ()), site=site)
    if author := post.get("author"):
        post["author"] = without_nothing(
            {**author, "photo": picture_by_proxy(author.get("photo"), site=site)}
        )
    content = post.get("content") or {}
    if html := content.get("html"):
        post["content"] = {**content, "html": html_by_proxy(html, site=site)}
    if refs := post.get("refs"):
        post["refs"] = {url: jf2_by_proxy(one, site=site) for url, one in refs.items()}
    return without_nothing(post)


def pictures_by_proxy(urls: Iterable[object], *, site: str = "") -> list[str]:
    return [path for url in urls if (path := picture_by_proxy(url, site=site))]


def picture_by_proxy(url: object, *, site: str = "") -> str:
    path = media_path(str(url)) if url else ""
    return path and site + path
