"""Finds and removes text with which nearly all summaries of a feed begin or end.

An example is “The post … appeared first on Bees.”, where each post's own title counts as equal. Texts are
plain and on one line.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from common.html.clean import MAX_LINE, plain
from common.truncation import plain_line
from feeds.parsing.entry import Entry

# Posts compared, newest first, and the fewest that allow a decision.
POSTS_COMPARED, FEWEST = 20, 3
SHORTEST, LONGEST = 20, 2_000
# A sentence's end, with closing quotes and brackets, is within this many characters.
LOOKED_BACK = 10
# Placeholder for the post's title. No text contains it.
OWN_TITLE = "\x1a"
# Shorter titles appear in texts by chance.
SHORTEST_TITLE = 5
_SENTENCE_ENDS = frozenset(".!?…:。！？")
# Ends of sentences in scripts without spaces.
_WIDE_ENDS = frozenset("。！？")
_CLOSERS = "\"'”’»)]」』"
_JOINER = "\u200d"
# Mastodon and others split the address by tags, to hide parts of it.
_TAG_INSIDE = r"<(?!/?a\b)[^<>]*>"
_BARE_LINK = re.compile(
    rf"<a\b[^<>]*>(?:\s|{_TAG_INSIDE})*(?:https?://|www\.)(?:[^\s<>]|{_TAG_INSIDE})*\s*</a>", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Boilerplate:
    """Common beginning and end, with OWN_TITLE for the post's title."""

    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """Title and summary. `is_whole`: the summary was not cut."""

    title: str
    text: str
    is_whole: bool = True


def summary_of(entry: Entry) -> Summary:
    """Return the summary, or else the text, without links that show only their address."""
    html = entry.summary or entry.content
    text = plain_line(plain(_BARE_LINK.sub(" ", html[:MAX_LINE])))
    return Summary(plain_line(entry.title), text, is_whole=len(html) <= MAX_LINE)


def boilerplate_of(posts: Sequence[Summary]) -> Boilerplate:
    """Return what at least four of five posts begin or end with, cut at a sentence or word."""
    told = [post for post in posts[:POSTS_COMPARED] if post.text]
    texts = [
        post.text.replace(post.title, OWN_TITLE) if len(post.title) >= SHORTEST_TITLE else post.text
        for post in told
    ]
    whole = [text for text, post in zip(texts, told, strict=True) if post.is_whole]
    return Boilerplate(start=_start(texts), end=_end(whole))


def without_boilerplate(post: Summary, common: Boilerplate) -> str:
    """Return the summary without it, but never empty."""
    text = post.text
    start, end = (part.replace(OWN_TITLE, post.title) for part in (common.start, common.end))
    if start and text.startswith(start) and _is_cut(text, len(start)):
        text = _if_words(text[len(start) :], otherwise=text)
    if end and text.endswith(end) and _is_cut(text, len(text) - len(end)):
        text = _if_words(text[: -len(end)], otherwise=text)
    return text


def _if_words(rest: str, *, otherwise: str) -> str:
    kept = rest.strip()
    return kept if any(map(str.isalnum, kept)) and _begins_anew(kept) else otherwise


def _start(texts: Sequence[str]) -> str:
    found = _longest(texts)[:LONGEST]
    having = [text for text in texts if text.startswith(found)]
    for is_boundary in (_ends_sentence, _is_cut):
        for place in range(len(found), SHORTEST - 1, -1):
            if _is_right(having, [place] * len(having), is_boundary) and _is_long(found[:place]):
                return found[:place]
    return ""


def _end(texts: Sequence[str]) -> str:
    found = _longest([text[::-1] for text in texts])[:LONGEST][::-1]
    having = [text for text in texts if text.endswith(found)]
    for is_boundary in (_ends_sentence, _is_cut):
        for left in range(len(found), SHORTEST - 1, -1):
            places = [len(text) - left for text in having]
            if _is_right(having, places, is_boundary) and _is_long(found[-left:]):
                return found[-left:]
    return ""


def _longest(texts: Sequence[str]) -> str:
    enough = max(FEWEST, -(-len(texts) * 4 // 5))
    ordered = sorted(texts)
    # Sorted texts with the same beginning are adjacent.
    pairs = zip(ordered, ordered[enough - 1 :], strict=False)
    return max((first[: _alike(first, last)] for first, last in pairs), key=len, default="")


def _alike(first: str, last: str) -> int:
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(last)))


def _is_long(part: str) -> bool:
    return len(part.strip()) >= SHORTEST


def _is_right(texts: Iterable[str], places: Iterable[int], is_boundary: Callable[[str, int], bool]) -> bool:
    return all(is_boundary(text, place) for text, place in zip(texts, places, strict=True))


def _is_cut(text: str, place: int) -> bool:
    if place in (0, len(text)):
        return True
    before, after = text[place - 1], text[place]
    return (before.isspace() or after.isspace() or before in _WIDE_ENDS) and _begins_anew(after)


def _ends_sentence(text: str, place: int) -> bool:
    before = text[max(place - LOOKED_BACK, 0) : place].rstrip().rstrip(_CLOSERS)
    return _is_cut(text, place) and (not before or before[-1] in _SENTENCE_ENDS)


def _begins_anew(text: str) -> bool:
    """Return whether the first character does not join one before it (mark, skin tone, joiner)."""
    first = text[:1]
    is_tone = "\U0001f3fb" <= first <= "\U0001f3ff"
    return not (first == _JOINER or is_tone or unicodedata.category(first or " ").startswith("M"))
