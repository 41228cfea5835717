"""Removes text that nearly all summaries share, like “The post … appeared first on Bees.”"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from common.html.clean import MAX_LINE, plain
from common.truncation import plain_line
from feeds.parsing.entry import Entry

POSTS_COMPARED, FEWEST = 20, 3
SHORTEST, LONGEST = 20, 2_000
# Characters, with closing quotes and brackets.
LOOKED_BACK = 10
# For the post's title. No text contains it.
OWN_TITLE = "\x1a"
# Shorter ones appear by chance.
SHORTEST_TITLE = 5
_SENTENCE_ENDS = frozenset(".!?…:。！？")
# In scripts without spaces.
_WIDE_ENDS = frozenset("。！？")
_CLOSERS = "\"'”’»)]」』"
_JOINER = "\u200d"
# Mastodon splits addresses by tags, to hide parts.
_TAG_INSIDE = r"<(?!/?a\b)[^<>]*>"
_BARE_LINK = re.compile(
    rf"<a\b[^<>]*>(?:\s|{_TAG_INSIDE})*(?:https?://|www\.)(?:[^\s<>]|{_TAG_INSIDE})*\s*</a>", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Summary:
    """`is_whole`: not cut."""

    title: str
    text: str
    is_whole: bool = True


def summary_of(entry: Entry) -> Summary:
    """Leave out links that show their address."""
    html = entry.summary or entry.content
    text = plain_line(plain(_BARE_LINK.sub(" ", html[:MAX_LINE])))
    return Summary(plain_line(entry.title), text, is_whole=len(html) <= MAX_LINE)


def boilerplate_of(posts: Sequence[Summary]) -> tuple[str, str]:
    """Return start and end of four in five posts, cut at a sentence or word, with OWN_TITLE for the title."""
    posts_with_text = [post for post in posts[:POSTS_COMPARED] if post.text]
    texts = [
        post.text.replace(post.title, OWN_TITLE) if len(post.title) >= SHORTEST_TITLE else post.text
        for post in posts_with_text
    ]
    whole = [text for text, post in zip(texts, posts_with_text, strict=True) if post.is_whole]
    return _start(texts), _end(whole)


def without_boilerplate(post: Summary, boilerplate: tuple[str, str]) -> str:
    """Never return an empty text."""
    text = post.text
    start, end = (part.replace(OWN_TITLE, post.title) for part in boilerplate)
    if start and text.startswith(start) and _is_cut(text, len(start)):
        text = _if_words(text[len(start) :], otherwise=text)
    if end and text.endswith(end) and _is_cut(text, len(text) - len(end)):
        text = _if_words(text[: -len(end)], otherwise=text)
    return text


def _if_words(rest: str, *, otherwise: str) -> str:
    kept = rest.strip()
    return kept if any(map(str.isalnum, kept)) and _begins_anew(kept) else otherwise


def _start(texts: Sequence[str]) -> str:
    longest = _longest(texts)[:LONGEST]
    having = [text for text in texts if text.startswith(longest)]
    for is_boundary in (_ends_sentence, _is_cut):
        for place in range(len(longest), SHORTEST - 1, -1):
            if _is_right(having, [place] * len(having), is_boundary) and _is_long(longest[:place]):
                return longest[:place]
    return ""


def _end(texts: Sequence[str]) -> str:
    longest = _longest([text[::-1] for text in texts])[:LONGEST][::-1]
    having = [text for text in texts if text.endswith(longest)]
    for is_boundary in (_ends_sentence, _is_cut):
        for left in range(len(longest), SHORTEST - 1, -1):
            places = [len(text) - left for text in having]
            if _is_right(having, places, is_boundary) and _is_long(longest[-left:]):
                return longest[-left:]
    return ""


def _longest(texts: Sequence[str]) -> str:
    enough = max(FEWEST, -(-len(texts) * 4 // 5))
    ordered = sorted(texts)
    # Texts with the same beginning are adjacent.
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
    """A mark, skin tone or joiner belongs to the character before."""
    first = text[:1]
    is_tone = "\U0001f3fb" <= first <= "\U0001f3ff"
    return not (first == _JOINER or is_tone or unicodedata.category(first or " ").startswith("M"))
