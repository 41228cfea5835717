import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unicodedata import category

from channels.announcement import HASHTAG_LIMIT, Announcement
from channels.base import CannotPost
from channels.http.links import graphemes, octets, postable, within
from channels.wording import parts_of
from common.truncation import DoesNotFit, FittingPart, cut_to, fitted, plain_line

# https://github.com/bluesky-social/atproto/blob/main/lexicons/app/bsky/feed/post.json
MOST_GRAPHEMES, MOST_OCTETS = 300, 3_000
fits_post = within((graphemes, MOST_GRAPHEMES), (octets, MOST_OCTETS))
# The facet has the whole link.
SHOWN_LINK = 40
_FACET = re.compile(r"(?P<url>https?://\S*[^\s.,;:!?'\")\]}>…])|(?<![\w#/&])#(?P<tag>\w+)(?![\w…])")
COLLECTION = "app.bsky.feed.post"
# Lexicon strings of the format uri have at most 8 KB.
LONGEST_LINK = 8_000
LONGEST_DESCRIPTION = 300
MOST_ANSWERS = 20
Record = dict[str, Any]


def rich_text(
    parts: Sequence[FittingPart], hashtags: Collection[str], *, is_own: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """Return the text, within the limits, and its facets. Raises DoesNotFit.

    In the post's words, only `hashtags` become facets.
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
    bare = plain_line(link.partition("://")[2]).removeprefix("www.").rstrip("/")
    return bare if len(bare) <= SHOWN_LINK else f"{bare[:SHOWN_LINK]}…"


def tags_of(facets: Sequence[dict[str, Any]]) -> set[str]:
    return {facet["features"][0].get("tag", "").casefold() for facet in facets}


def _shown(part: FittingPart) -> str:
    if part.link:
        return shown_link(part.link)
    # Lone surrogates cannot be sent.
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


@dataclass(frozen=True, slots=True)
class BlueskyPost:
    """`plain` is used if the record is refused; `picture` is for its card."""

    record: Record
    plain: Record
    picture: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """Post and its replies, each to the one before."""

    at: datetime
    posts: tuple[BlueskyPost, ...]


def bluesky_thread(post: Announcement, options: Mapping[str, str]) -> Thread:
    """Raises CannotPost."""
    if octets(post.link) > LONGEST_LINK:
        raise CannotPost("The post’s link is longer than Bluesky allows.")
    try:
        posts = [_announcing(post, options)]
    except DoesNotFit:  # the default text always fits
        options = {**options, "template": ""}
        posts = [_announcing(post, options)]
    if not (posts[0].record["text"].strip() or "embed" in posts[0].record):
        raise CannotPost("There is no text to post.")
    if post.is_digest and options.get("thread"):
        for number, line in enumerate(post.lines[:MOST_ANSWERS], start=1):
            ending = [FittingPart("\n"), FittingPart(line.link, link=line.link)] if line.link else []
            parts = [FittingPart(line.title, cuttable=True), *ending]
            answer = _record(post, options, *rich_text(parts, ()), number)
            posts.append(BlueskyPost(answer, answer))
    return Thread(post.at, tuple(posts))


def _announcing(post: Announcement, options: Mapping[str, str]) -> BlueskyPost:
    template, is_own = options.get("template", ""), bool(post.own_words)
    plain = _record(post, options, *rich_text(parts_of(post, template), post.hashtags, is_own=is_own))
    if post.is_digest or not post.link or options.get("card") == "no":
        return BlueskyPost(plain, plain)
    parts = parts_of(post, template, link=False)
    text, facets = rich_text(parts, post.hashtags, is_own=is_own)
    description = cut_to(post.summary, LONGEST_DESCRIPTION)
    card = {"uri": post.link, "title": post.title or post.newsletter_title, "description": description}
    embed = {"$type": "app.bsky.embed.external", "external": card}
    record = {**_record(post, options, text, facets), "embed": embed}
    return BlueskyPost(record, plain, post.images[0].url if post.images else "")


def _record(
    post: Announcement, options: Mapping[str, str], text: str, facets: list[Record], number: int = 0
) -> Record:
    # Replies are later than what they reply to.
    at = timestamp(post.at + timedelta(milliseconds=number))
    record: Record = {"$type": COLLECTION, "text": text, "createdAt": at}
    shown = tags_of(facets)
    hidden = [tag for tag in post.hashtags if tag.casefold() not in shown]
    if facets:
        record["facets"] = facets
    if post.language:
        record["langs"] = [post.language]
    if hidden and not options.get("tags"):
        record["tags"] = hidden
    if warning := options.get("content_label"):
        label = "com.atproto.label.defs#selfLabels"
        record["labels"] = {"$type": label, "values": [{"val": warning}]}
    return record


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
