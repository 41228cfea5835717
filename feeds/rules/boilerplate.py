"""What nearly all summaries of a feed begin or end with, and a summary without it.

“The post … appeared first on Bees.” is such an end: a post's own title counts as the same in all of them.
Texts are plain and on one line.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from common.html.clean import MAX_LINE, plain
from common.truncation import plain_line
from feeds.parsing.entry import Entry

# So many posts are looked at, the newest; of fewer than these nobody can tell.
POSTS_COMPARED, FEWEST = 20, 3
SHORTEST, LONGEST = 20, 2_000
# A sentence's end, with the quotation marks and brackets after it, stands within so many characters.
LOOKED_BACK = 10
# Stands for the post's own title; no text has it.
OWN_TITLE = "\x1a"
# A shorter one stands in texts that do not mean it.
SHORTEST_TITLE = 5
_SENTENCE_ENDS = frozenset(".!?…:。！？")
# Scripts without spaces end words with these.
_WIDE_ENDS = frozenset("。！？")
_CLOSERS = "\"'”’»)]」』"
_JOINER = "\u200d"
# Programs such as Mastodon part the address by tags of their own, to hide some of it.
_TAG_INSIDE = r"<(?!/?a\b)[^<>]*>"
_BARE_LINK = re.compile(
    rf"<a\b[^<>]*>(?:\s|{_TAG_INSIDE})*(?:https?://|www\.)(?:[^\s<>]|{_TAG_INSIDE})*\s*</a>", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Boilerplate:
    """OWN_TITLE stands in both for the post's title."""

    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A post's title and summary. `is_whole`: the summary has its end."""

    title: str
    text: str
    is_whole: bool = True


def summary_of(entry: Entry) -> Summary:
    """The summary, else the text, without links that show nothing but their address."""
    html = entry.summary or entry.content
    text = plain_line(plain(_BARE_LINK.sub(" ", html[:MAX_LINE])))
    return Summary(plain_line(entry.title), text, is_whole=len(html) <= MAX_LINE)


def boilerplate_of(posts: Sequence[Summary]) -> Boilerplate:
    """What at least four of five of these posts, the newest first, begin or end with.

    It ends with a sentence if it can, else with a word.
    """
    told = [post for post in posts[:POSTS_COMPARED] if post.text]
    texts = [
        post.text.replace(post.title, OWN_TITLE) if len(post.title) >= SHORTEST_TITLE else post.text
        for post in told
    ]
    whole = [text for text, post in zip(texts, told, strict=True) if post.is_whole]
    return Boilerplate(start=_start(texts), end=_end(whole))


def without_boilerplate(post: Summary, common: Boilerplate) -> str:
    """The summary without it; never empty where there was a word in it."""
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
    """The longest beginning that enough of the texts have."""
    enough = max(FEWEST, -(-len(texts) * 4 // 5))
    ordered = sorted(texts)
    # Among those in order, texts with the same beginning stand together.
    pairs = zip(ordered, ordered[enough - 1 :], strict=False)
    return max((first[: _alike(first, last)] for first, last in pairs), key=len, default="")


def _alike(first: str, last: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(last)))


def _is_long(part: str) -> bool:
    return len(part.strip()) >= SHORTEST


def _is_right(texts: Iterable[str], places: Iterable[int], is_boundary: Callable[[str, int], bool]) -> bool:
    return all(is_boundary(text, place) for text, place in zip(texts, places, strict=True))


def _is_cut(text: str, place: int) -> bool:
    """Whether no word and no letter is cut there."""
    if place in (0, len(text)):
        return True
    before, after = text[place - 1], text[place]
    return (before.isspace() or after.isspace() or before in _WIDE_ENDS) and _begins_anew(after)


def _ends_sentence(text: str, place: int) -> bool:
    before = text[max(place - LOOKED_BACK, 0) : place].rstrip().rstrip(_CLOSERS)
    return _is_cut(text, place) and (not before or before[-1] in _SENTENCE_ENDS)


def _begins_anew(text: str) -> bool:
    """Whether its first character joins none before it: no mark, no skin tone, no joined emoji."""
    first = text[:1]
    is_tone = "\U0001f3fb" <= first <= "\U0001f3ff"
    return not (first == _JOINER or is_tone or unicodedata.category(first or " ").startswith("M"))
