"""Fetching and parsing sources, without database."""

from dataclasses import dataclass, replace
from itertools import chain

from common.net.client import Fetched, FetchError, Unreached, client
from common.text import one_line, shortened, without_controls
from feeds.parsing import entry
from feeds.parsing.discovery import decoded, read_page
from feeds.parsing.entry import Entry, ParseError
from feeds.parsing.posts import paragraphs
from feeds.polling.read import clean_entry
from reader.rules.mentions import (
    MENTION,
    comparable,
    html_links_to,
    json_links_to,
    kind_towards,
    text_links_to,
)

ACCEPTED = {"Accept": "text/html, application/xhtml+xml, application/json;q=0.8, text/plain;q=0.7, */*;q=0.1"}
MAX_SOURCE = 1_000_000
LOOK_SECONDS = 5.0
GONE = (404, 410)
LATER = (408, 421, 425, 429)
LONGEST_QUOTE = 500
NO_LINK = "The source does not link to the target."


@dataclass(frozen=True, slots=True)
class Look:
    """A sanitized `entry` and its relation to the target, or why there is none.

    `is_gone`: source or link. `is_later`: try again.
    """

    entry: Entry | None = None
    kind: str = ""
    problem: str = ""
    is_gone: bool = False
    is_later: bool = False


def look_at(source: str, target: str) -> Look:
    """Raises nothing that a server can cause."""
    try:
        answer = client().get(source, headers=ACCEPTED, timeout=LOOK_SECONDS, max_bytes=MAX_SOURCE)
    except FetchError as error:
        return Look(problem=str(error), is_later=isinstance(error, Unreached))
    if answer.status in GONE:
        return Look(problem=f"The source is gone (HTTP {answer.status}).", is_gone=True)
    if not 200 <= answer.status < 300:
        is_later = answer.status >= 500 or answer.status in LATER
        return Look(problem=f"The source returned an error (HTTP {answer.status}).", is_later=is_later)
    try:
        with entry.cpu_limit():
            return _read(answer, source, target)
    except ParseError as error:
        return Look(problem=str(error))


def _read(answer: Fetched, source: str, target: str) -> Look:
    """Raises ParseError if too expensive."""
    kind = answer.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    text = without_controls(decoded(answer.body, answer.headers.get("content-type", "")))
    url = without_controls(answer.url)
    if "html" in kind:
        is_linked = html_links_to(text, target, url=url)
    elif kind == "application/json" or kind.endswith("+json"):
        is_linked = json_links_to(text, target)
    elif kind == "text/plain":
        is_linked = text_links_to(text, target)
    else:
        return Look(
            problem=f"The source has an unsupported type: {shortened(one_line(kind), 100)}.", is_gone=True
        )
    if not is_linked:
        return Look(problem=NO_LINK, is_gone=True)
    post = Entry("")
    if "html" in kind:
        post = _post(text, target, url)
    elif kind == "text/plain":
        post = replace(post, content=paragraphs(shortened(text.strip(), LONGEST_QUOTE)))
    # Counts only on the same server.
    is_there = _origin(post.link) == _origin(url)
    post = replace(post, link=post.link if is_there else source)
    towards = kind_towards(target, post)
    if towards == MENTION:
        relations = (*post.social.relations, ("mention-of", target))
        post = replace(post, social=replace(post.social, relations=relations))
    return Look(clean_entry(post, url), towards)


def _post(html: str, target: str, url: str) -> Entry:
    """Return the post that mentions the target; without posts, the page's title."""
    from feeds.parsing.h_feed import read_entries  # takes 4 MB

    posts = read_entries(html, url)
    related = (post for post in posts if kind_towards(target, post) != MENTION)
    linked = (post for post in posts if html_links_to(post.html, target, url=post.base or url))
    return next(chain(related, linked, posts), None) or Entry("", title=read_page(html, url).title)


def _origin(url: str) -> tuple[str, ...]:
    return tuple(comparable(url).split("/")[:3])
