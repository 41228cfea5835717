"""Feed documents for tests. Items are dicts, newest first; every value is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

Item = Mapping[str, Any]

NAMESPACES = (
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'
)


def _text(name: str, value: object, attributes: str = "") -> str:
    return f"<{name}{attributes}>{escape(str(value))}</{name}>"


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in values.items())


def _many(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def rss(
    items: Iterable[Item],
    *,
    title: str = "Example Blog",
    link: str = "https://blog.example.org/",
    language: str = "en",
    extra: str = "",
) -> bytes:
    """Return an RSS 2.0 document. `extra` is raw XML for the channel.

    Keys of an item: guid, permalink (bool: isPermaLink), title, link, description, content, published (an
    aware datetime, or literal text), author or authors, categories, enclosures (dicts of url, type, length),
    media (dicts of url, type, fileSize, medium), extra (raw XML).
    """
    head = _text("title", title) + _text("link", link) + _text("language", language) + extra
    body = "".join(map(_rss_item, items))
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" {NAMESPACES}><channel>{head}{body}'
        "</channel></rss>"
    ).encode()


def _rss_item(item: Item) -> str:
    parts = [
        _text(name, item[key])
        for key, name in (("title", "title"), ("link", "link"), ("description", "description"))
        if key in item
    ]
    if "guid" in item:
        permalink = {} if item.get("permalink") is None else {"isPermaLink": str(item["permalink"]).lower()}
        parts.append(_text("guid", item["guid"], _attributes(permalink)))
    if "content" in item:
        parts.append(_text("content:encoded", item["content"]))
    if "published" in item:
        moment = item["published"]
        parts.append(_text("pubDate", format_datetime(moment) if isinstance(moment, datetime) else moment))
    parts += [_text("dc:creator", name) for name in _many(item.get("authors", item.get("author", [])))]
    parts += [_text("category", name) for name in item.get("categories", [])]
    parts += [f"<enclosure{_attributes(values)}/>" for values in item.get("enclosures", [])]
    parts += [f"<media:content{_attributes(values)}/>" for values in item.get("media", [])]
    return f"<item>{''.join(parts)}{item.get('extra', '')}</item>"


def atom(
    items: Iterable[Item],
    *,
    title: str = "Example Blog",
    link: str = "https://blog.example.org/",
    language: str = "en",
    extra: str = "",
) -> bytes:
    """Return an Atom 1.0 document. Items are as for `rss`, and may have `updated`."""
    head = _text("title", title) + f"<id>urn:feed</id><link{_attributes({'href': link})}/>{extra}"
    body = "".join(map(_atom_entry, items))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{language}">{head}{body}</feed>'
    ).encode()


def _atom_entry(item: Item) -> str:
    html = ' type="html"'
    parts = [_text("id", item["guid"])] if "guid" in item else []
    parts += [_text("title", item["title"], html)] if "title" in item else []
    parts += [f"<link{_attributes({'rel': 'alternate', 'href': item['link']})}/>"] if "link" in item else []
    parts += [_text("summary", item["description"], html)] if "description" in item else []
    parts += [_text("content", item["content"], html)] if "content" in item else []
    for key in ("published", "updated"):
        if key in item:
            moment = item[key]
            parts.append(
                _text(key, moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else moment)
            )
    authors = _many(item.get("authors", item.get("author", [])))
    parts += [f"<author>{_text('name', name)}</author>" for name in authors]
    parts += [f"<category{_attributes({'term': name})}/>" for name in item.get("categories", [])]
    parts += [
        f"<link{_attributes({'rel': 'enclosure', 'href': values['url'], 'type': values.get('type', '')})}/>"
        for values in item.get("enclosures", [])
    ]
    return f"<entry>{''.join(parts)}{item.get('extra', '')}</entry>"
