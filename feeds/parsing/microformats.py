"""mf2py on pages of strangers: only the classes that we read, and nothing that could make it work for ever.

It reads a microformat once for each property that it is of another one: two property names on each of thirty
nested ones are a thousand million readings.
"""

from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import AttributeValueList

from common.balancing import balance
from common.text import words

MAX_PAGE = 1_000_000
MAX_TAGS = 40_000
MAX_ROOTS = 4
MAX_PROPERTIES = 6

ROOTS = words("h-feed h-entry h-card h-cite")
EMBEDDED = "e-content"
PROPERTIES = words(
    "p-name u-url u-uid p-summary e-content p-content dt-published dt-updated p-author u-author p-category"
    " u-category u-photo u-featured u-video u-audio p-entry"
)


def microformats(html: str, url: str) -> dict[str, Any]:
    """What mf2py finds in a page at `url`: its `items` and `rels`, and the page's `lang`.

    Raises whatever mf2py does. Nothing is fetched: that it does only when it is given no document.
    """
    # Slow to load, and hardly ever needed.
    import mf2py

    beginning = "<".join(html[:MAX_PAGE].split("<", MAX_TAGS)[:MAX_TAGS])
    # Balanced, it needs none of the mending that makes html5lib slow (minutes for a megabyte of "<").
    page = BeautifulSoup(balance(beginning), "html.parser")
    for child in _children(page):
        _prune(child, roots=0, properties=0, embedded=False)
    parser = mf2py.Parser(doc=page, url=url)
    found: dict[str, Any] = parser.to_dict()
    return {"items": found["items"], "rels": found["rels"], "lang": parser.lang}


def _prune(element: Tag, *, roots: int, properties: int, embedded: bool) -> None:
    """Takes the classes away that are not read, here and below: classic microformats (hentry) among them."""
    kept = _kept(element, roots=roots, properties=properties, embedded=embedded)
    if "class" in element.attrs:
        element["class"] = AttributeValueList(kept)
    roots += any(one in ROOTS for one in kept)
    properties += any(one in PROPERTIES for one in kept)
    embedded = embedded or EMBEDDED in kept
    for child in _children(element):
        _prune(child, roots=roots, properties=properties, embedded=embedded)


def _kept(element: Tag, *, roots: int, properties: int, embedded: bool) -> list[str]:
    names = list(dict.fromkeys(name for name in element.get_attribute_list("class") if name))
    kinds = [name for name in names if name in ROOTS][:1] if roots < MAX_ROOTS else []
    said = [name for name in names if name in PROPERTIES] if properties < MAX_PROPERTIES else []
    if embedded:
        said = [name for name in said if name != EMBEDDED]
    # What value-class-pattern reads: without it, dates are incomplete.
    values = [name for name in names if name in ("value", "value-title")]
    return [*kinds, *(said[:1] if kinds else said), *values]


def _children(element: Tag) -> list[Tag]:
    return [child for child in element.children if isinstance(child, Tag)]
