"""Words with their links and hashtags, which Bluesky keeps beside the text as “facets”. Pure.

What is in no facet is but text: nothing is a mention, and an address in a title leads nowhere.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any
from unicodedata import category

from channels.announcement import HASHTAG_LIMIT
from channels.http.links import postable
from channels.http.measures import graphemes, octets, within
from common.truncation import FittingPart, fitted, plain_line

# https://github.com/bluesky-social/atproto/blob/main/lexicons/app/bsky/feed/post.json
MOST_GRAPHEMES, MOST_OCTETS = 300, 3_000
fits_post = within((graphemes, MOST_GRAPHEMES), (octets, MOST_OCTETS))
# So much of an address is shown; its facet has it whole.
SHOWN_LINK = 40
_FACET = re.compile(r"(?P<url>https?://\S*[^\s.,;:!?'\")\]}>…])|(?<![\w#/&])#(?P<tag>\w+)(?![\w…])")


def rich_text(
    parts: Sequence[FittingPart], hashtags: Collection[str], *, is_own: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """The text, within the limits, and its facets. Raises DoesNotFit.

    Of what the post says (the parts that may be cut) only its `hashtags` are facets, unless the words are the
    newsletter's own.
    """
    shown = [FittingPart(_shown(part), part.cuttable, part.link) for part in parts]
    text, facets = "", []
    for piece in fitted(shown, lambda pieces: fits_post("".join(part.text for part in pieces))):
        start = octets(text)
        text += piece.text
        if piece.link:
            facets.append(_facet(start, octets(text), link=piece.link))
        else:
            facets += _found(piece.text, start, hashtags, is_trusted=is_own or not piece.cuttable)
    return text, facets


def shown_link(link: str) -> str:
    """An address as Bluesky's own apps show it: without its scheme, and short."""
    bare = plain_line(link.partition("://")[2]).removeprefix("www.").rstrip("/")
    return bare if len(bare) <= SHOWN_LINK else f"{bare[:SHOWN_LINK]}…"


def tags_of(facets: Sequence[dict[str, Any]]) -> set[str]:
    """The hashtags among the facets, in lower case."""
    return {facet["features"][0].get("tag", "").casefold() for facet in facets}


def _shown(part: FittingPart) -> str:
    if part.link:
        return shown_link(part.link)
    # Lines stay; a text with halves of characters cannot be sent.
    return "".join(char for char in part.text if char == "\n" or category(char) not in ("Cc", "Cs"))


def _found(text: str, start: int, hashtags: Collection[str], *, is_trusted: bool) -> Iterator[dict[str, Any]]:
    known = {tag.casefold() for tag in hashtags}
    for match in _FACET.finditer(text):
        begin = start + octets(text[: match.start()])
        end, tag = begin + octets(match[0]), match["tag"] or ""
        if match["url"]:
            if is_trusted and postable(match["url"]) == match["url"]:
                yield _facet(begin, end, link=match["url"])
        elif tag.casefold() in known or (is_trusted and len(tag) <= HASHTAG_LIMIT and not tag.isdecimal()):
            yield _facet(begin, end, tag=tag)


def _facet(start: int, end: int, *, link: str = "", tag: str = "") -> dict[str, Any]:
    feature = {"uri": link} if link else {"tag": tag}
    kind = f"app.bsky.richtext.facet#{'link' if link else 'tag'}"
    return {"index": {"byteStart": start, "byteEnd": end}, "features": [{"$type": kind, **feature}]}
