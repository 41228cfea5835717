"""Texts of bridges: the default, a template, or the operator's code. Pure.

Parts are plain text; channels escape and cut them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, pairwise, repeat

from channels.announcement import Announcement, Line
from common.truncation import DoesNotFit, FittingPart, fit_parts, fitted, packed

LONGEST_TEMPLATE = 2_000
# `{title}`, `{title|New post}`; two braces are a literal one.
_PLACE = re.compile(r"\{\{|\}\}|\{([a-z]+)(?:\|([^{}]*))?\}")

PLACES: Mapping[str, Callable[[Announcement], str]] = {
    "newsletter": lambda post: post.newsletter_title,
    "name": lambda post: post.newsletter,
    "title": lambda post: post.title,
    "link": lambda post: post.link,
    "authors": lambda post: post.authors,
    "summary": lambda post: post.summary,
    "hashtags": lambda post: " ".join(post.tags_to_add),
    "date": lambda post: f"{post.at:%Y-%m-%d}",
    "count": lambda post: str(len(post.lines) or 1),
    "titles": lambda post: "\n".join(f"• {line.title}" for line in post.lines),
    "posts": lambda post: "\n".join(f"• {line.title} {line.link}".rstrip() for line in post.lines),
}
# Cut last, or never.
_WHOLE = frozenset({"link", "date", "count", "posts"})


class BadTemplate(ValueError):
    """The message is a sentence."""


def checked_template(template: str) -> str:
    """Raises BadTemplate."""
    text = template.replace("\r\n", "\n").strip()
    if len(text) > LONGEST_TEMPLATE:
        raise BadTemplate(f"a template has at most {LONGEST_TEMPLATE:,} characters.")
    there_are = ", ".join(f"{{{name}}}" for name in PLACES)
    for match in _PLACE.finditer(text):
        if match[1] and match[1] not in PLACES:
            raise BadTemplate(f"there is no {{{match[1]}}}. Available: {there_are}.")
    if text and re.search(r"[{}]", _PLACE.sub("", text)):
        raise BadTemplate(f"unmatched brace. Write {{{{ to show a brace. The placeholders are {there_are}.")
    return text


def parts_of(post: Announcement, template: str = "", *, link: bool = True) -> list[FittingPart]:
    """Return the newsletter's own text, else the template's, else the default.

    The link is uncut, unless a template omits it. `link=False` (the service shows a card) adds none.
    """
    if post.own_words:
        return _own(post, link=link)
    return _templated(post, template) if template else usual_parts(post, link=link)


def extra_parts(post: Announcement, names: Collection[str]) -> list[FittingPart]:
    """Return optional parts: “titles” of a digest, “hashtags”, “summary”.

    Titles and hashtags are not cut; hashtags have priority over the summary.
    """
    parts = []
    if "titles" in names:
        parts += [FittingPart(f"\n• {line.title}", optional=1) for line in post.lines]
    if "summary" in names and post.summary not in ("", post.title) and _is_read_elsewhere(post):
        parts.append(FittingPart(f"\n\n{post.summary}", cuttable=True, optional=2))
    if "hashtags" in names:
        joints = chain(["\n\n"], repeat(" "))
        parts += [
            FittingPart(f"{joint}{tag}", optional=1)
            for joint, tag in zip(joints, post.tags_to_add, strict=False)
        ]
    return parts


def thread_of(first: str, lines: Iterable[Line], fits: Callable[[str], bool], *, most: int) -> list[str]:
    """Pack a digest's posts into at most `most` texts; omit links that are too long."""
    return packed(first, (_fitted(line, fits) for line in lines), fits, most=most)


def _fitted(line: Line, fits: Callable[[str], bool]) -> str:
    words = [FittingPart("• "), FittingPart(line.title, cuttable=True)]
    try:
        return fit_parts([*words, FittingPart(" "), FittingPart(line.link, link=line.link)], fits).rstrip()
    except DoesNotFit:
        return fit_parts(words, fits)


def usual_parts(post: Announcement, *, link: bool = True) -> list[FittingPart]:
    """Return upstream's default text: `[name] New Post: TITLE, by AUTHOR LINK`.

    Title and author are optional; a digest has `[name] TITLE LINK`. Without `link`, the service shows a card.
    A post without a link includes its text, which is nowhere else.
    """
    start = [FittingPart("["), FittingPart(post.newsletter, cuttable=True), FittingPart("] ")]
    if post.is_digest:
        words, joint = [FittingPart(post.title, cuttable=True)], " "
    else:
        title = headline(post) if link else post.title
        words = (
            [FittingPart("New Post: "), FittingPart(title, cuttable=True)]
            if title
            else [FittingPart("New Untitled Post")]
        )
        if post.authors:
            words += [FittingPart(", by "), FittingPart(post.authors, cuttable=True)]
        joint = " " if post.title or post.authors else " at "
    end = [FittingPart(joint), FittingPart(post.link, link=post.link)] if link and post.link else []
    return [*start, *words, *end, *(text_of_unlinked(post) if link else ())]


def push_parts(post: Announcement, template: str) -> list[FittingPart]:
    """A click on a push opens the link, so the default text omits it."""
    if template or post.own_words:
        return parts_of(post, template)
    more = "\n".join(f"• {line.title}" for line in post.lines) or post.summary
    usual = usual_parts(post, link=False)
    return [*usual, FittingPart("\n"), FittingPart(more, cuttable=True)] if more else usual


def headline(post: Announcement) -> str:
    """Return the title; without title and link, the whole text."""
    return post.title if post.is_titled or _is_read_elsewhere(post) else post.summary or post.title


def text_of_unlinked(post: Announcement) -> list[FittingPart]:
    if _is_read_elsewhere(post) or post.summary in ("", headline(post)):
        return []
    return [FittingPart("\n\n"), FittingPart(post.summary, cuttable=True)]


def _is_read_elsewhere(post: Announcement) -> bool:
    return bool(post.link) or post.is_digest


def listing_parts(
    post: Announcement, template: str, fits: Callable[[Sequence[FittingPart]], bool], *, titles: Sequence[int]
) -> list[FittingPart]:
    """Return fitted parts; the default text lists a digest's first posts, as many of `titles` as fit.

    Raises DoesNotFit.
    """
    *counts, least = (0,) if template or post.own_words else titles
    parts = parts_of(post, template)
    for count in counts:
        with suppress(DoesNotFit):
            return fitted([*parts, *_listed(post, count)], fits)
    return fitted([*parts, *_listed(post, least)], fits)


def _listed(post: Announcement, most: int) -> list[FittingPart]:
    parts = []
    for line in post.lines[:most]:
        parts += [FittingPart("\n• "), FittingPart(line.title, cuttable=True, link=line.link)]
    more = len(post.lines) - most
    return [*parts, FittingPart(f"\n• and {more} more")] if more > 0 and parts else parts


def _own(post: Announcement, *, link: bool) -> list[FittingPart]:
    """Add the link if missing and wanted."""
    text, url = post.own_words, post.link
    before, found, after = text.partition(url) if url else (text, "", "")
    parts = [FittingPart(before, cuttable=True)]
    if found:
        return [*parts, FittingPart(url, link=url), FittingPart(after, cuttable=True)]
    return [*parts, FittingPart(" "), FittingPart(url, link=url)] if link and url else parts


def _templated(post: Announcement, template: str) -> list[FittingPart]:
    parts: list[FittingPart] = []
    ends = [match.span() for match in _PLACE.finditer(template)]
    for (_, end), (start, stop) in pairwise([(0, 0), *ends, (len(template), len(template))]):
        parts.append(FittingPart(template[end:start]))
        place = _PLACE.fullmatch(template, start, stop)
        if place is None:
            continue
        name, otherwise = place[1], place[2] or ""
        if name is None:
            parts.append(FittingPart(place[0][0]))
        elif name == "title" and place[2] is not None and not post.is_titled:
            parts.append(FittingPart(otherwise))
        elif value := PLACES[name](post):
            link = value if name == "link" else ""
            parts.append(FittingPart(value, cuttable=name not in _WHOLE, link=link))
        else:
            parts.append(FittingPart(otherwise))
    return [part for part in parts if part.text]
