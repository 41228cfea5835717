"""Values in mf2py's microformats."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from common.text import one_line, shortened
from feeds.parsing.fields import MAX_ENTRY_TITLE
from feeds.parsing.media import absolute

MAX_NESTING = 8
_CUT = re.compile(r"(?:…|\.\.\.|\[…\])\s*$")

Microformat = Mapping[str, Any]


def found_in(items: object, kind: str, depth: int = 0) -> Iterator[Microformat]:
    """Yield microformats of a kind, except nested ones."""
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or depth > MAX_NESTING:
            continue
        if kind in (item.get("type") or ()):
            yield item
        else:
            yield from found_in(item.get("children"), kind, depth + 1)


def link_of(item: Microformat, url: str) -> str:
    links = (absolute(address_of(value), url) for key in ("url", "uid") for value in values_of(item, key))
    return next(filter(None, links), "")


def title_of(item: Microformat) -> str:
    """Return the name, unless it repeats the text as implied names of notes do."""
    name, content = one_line(text_of(item, "name")[: 10 * MAX_ENTRY_TITLE]), one_line(content_text(item))
    beginning = _CUT.sub("", name).strip()
    if name and (name == content or (beginning != name and content.startswith(beginning))):
        return ""
    return shortened(name, MAX_ENTRY_TITLE)


def content_text(item: Microformat) -> str:
    value = next(iter(values_of(item, "content")), "")
    return plain_of(value)[: 100 * MAX_ENTRY_TITLE]


def values_of(item: Microformat, key: str) -> list[Any]:
    properties = item.get("properties")
    value = properties.get(key) if isinstance(properties, dict) else None
    return value if isinstance(value, list) else []


def text_of(item: Microformat, key: str) -> str:
    return plain_of(next(iter(values_of(item, key)), ""))


def plain_of(value: object) -> str:
    text = value.get("value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def address_of(value: object) -> str:
    """Return an address, an image's value or a microformat's url."""
    if isinstance(value, dict):
        return next((one for one in values_of(value, "url") if isinstance(one, str)), "") or plain_of(value)
    return plain_of(value)
