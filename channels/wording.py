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
    "newsletter": lambda said: said.newsletter_title,
    "name": lambda said: said.newsletter,
    "title": lambda said: said.title,
    "link": lambda said: said.link,
    "authors": lambda said: said.authors,
    "summary": lambda said: said.summary,
    "hashtags": lambda said: " ".join(f"#{tag}" for tag in said.hashtags),
    "date": lambda said: f"{said.at:%Y-%m-%d}",
    "count": lambda said: str(len(said.lines) or 1),
    "titles": lambda said: "\n".join(f"• {line.title}" for line in said.lines),
    "posts": lambda said: "\n".join(f"• {line.title} {line.link}".rstrip() for line in said.lines),
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


def parts_of(said: Announcement, template: str = "", *, link: bool = True) -> list[FittingPart]:
    """Return the newsletter's own text, else the template's, else the default.

    The link is uncut, unless a template omits it. `link=False` (the service shows a card) adds none.
    """
    if said.own_words:
        return _own(said, link=link)
    return _templated(said, template) if template else usual_parts(said, link=link)


def extra_parts(said: Announcement, names: Collection[str]) -> list[FittingPart]:
    """Return optional parts: “titles” of a digest, “hashtags”, “summary”.

    Titles and hashtags are not cut; hashtags have priority over the summary.
    """
    parts = []
    if "titles" in names:
        parts += [FittingPart(f"\n• {line.title}", optional=1) for line in said.lines]
    if "summary" in names and said.summary not in ("", said.title) and _is_read_elsewhere(said):
        parts.append(FittingPart(f"\n\n{said.summary}", cuttable=True, optional=2))
    if "hashtags" in names:
        joints = chain(["\n\n"], repeat(" "))
        parts += [
            FittingPart(f"{joint}#{tag}", optional=1)
            for joint, tag in zip(joints, said.hashtags, strict=False)
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


def usual_parts(said: Announcement, *, link: bool = True) -> list[FittingPart]:
    """Return upstream's default text: `[name] New Post: TITLE, by AUTHOR LINK`.

    Title and author are optional; a digest has `[name] TITLE LINK`. Without `link`, the service shows a card.
    A post without a link includes its text, which is nowhere else.
    """
    start = [FittingPart("["), FittingPart(said.newsletter, cuttable=True), FittingPart("] ")]
    if said.is_digest:
        words, joint = [FittingPart(said.title, cuttable=True)], " "
    else:
        title = headline(said) if link else said.title
        words = (
            [FittingPart("New Post: "), FittingPart(title, cuttable=True)]
            if title
            else [FittingPart("New Untitled Post")]
        )
        if said.authors:
            words += [FittingPart(", by "), FittingPart(said.authors, cuttable=True)]
        joint = " " if said.title or said.authors else " at "
    end = [FittingPart(joint), FittingPart(said.link, link=said.link)] if link and said.link else []
    return [*start, *words, *end, *(text_of_unlinked(said) if link else ())]


def push_parts(said: Announcement, template: str) -> list[FittingPart]:
    """A click on a push opens the link, so the default text omits it."""
    if template or said.own_words:
        return parts_of(said, template)
    more = "\n".join(f"• {line.title}" for line in said.lines) or said.summary
    usual = usual_parts(said, link=False)
    return [*usual, FittingPart("\n"), FittingPart(more, cuttable=True)] if more else usual


def headline(said: Announcement) -> str:
    """Return the title; without title and link, the whole text."""
    return said.title if said.is_titled or _is_read_elsewhere(said) else said.summary or said.title


def text_of_unlinked(said: Announcement) -> list[FittingPart]:
    if _is_read_elsewhere(said) or said.summary in ("", headline(said)):
        return []
    return [FittingPart("\n\n"), FittingPart(said.summary, cuttable=True)]


def _is_read_elsewhere(said: Announcement) -> bool:
    return bool(said.link) or said.is_digest


def listing_parts(
    said: Announcement,
    template: str,
    fits: Callable[[Sequence[FittingPart]], bool],
    *,
    titles: Sequence[int],
) -> list[FittingPart]:
    """Return fitted parts; the default text lists a digest's first posts, as many of `titles` as fit.

    Raises DoesNotFit.
    """
    *counts, least = (0,) if template or said.own_words else titles
    parts = parts_of(said, template)
    for count in counts:
        with suppress(DoesNotFit):
            return fitted([*parts, *_listed(said, count)], fits)
    return fitted([*parts, *_listed(said, least)], fits)


def _listed(said: Announcement, most: int) -> list[FittingPart]:
    parts = []
    for line in said.lines[:most]:
        parts += [FittingPart("\n• "), FittingPart(line.title, cuttable=True, link=line.link)]
    more = len(said.lines) - most
    return [*parts, FittingPart(f"\n• and {more} more")] if more > 0 and parts else parts


def _own(said: Announcement, *, link: bool) -> list[FittingPart]:
    """Add the link if missing and wanted."""
    text, url = said.own_words, said.link
    before, found, after = text.partition(url) if url else (text, "", "")
    parts = [FittingPart(before, cuttable=True)]
    if found:
        return [*parts, FittingPart(url, link=url), FittingPart(after, cuttable=True)]
    return [*parts, FittingPart(" "), FittingPart(url, link=url)] if link and url else parts


def _templated(said: Announcement, template: str) -> list[FittingPart]:
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
        elif name == "title" and place[2] is not None and not said.is_titled:
            parts.append(FittingPart(otherwise))
        elif value := PLACES[name](said):
            link = value if name == "link" else ""
            parts.append(FittingPart(value, cuttable=name not in _WHOLE, link=link))
        else:
            parts.append(FittingPart(otherwise))
    return [part for part in parts if part.text]
