"""Renders an issue once for all readers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django.utils import timezone, translation
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from channels.languages import spoken
from channels.letter import LetterError
from channels.placeholders import Placeholders
from common.html.balance import balance
from common.html.plain_text import to_text
from common.text import one_line, shortened
from delivery.rendering import engine, subjects
from delivery.rendering.branding import boxed, look
from delivery.rendering.errors import Rendered, RenderedParts
from delivery.rendering.facts import IssueFacts, web_address
from delivery.rendering.posts import FULL_POST, LetterPost, brief_post, for_letter, letter_html, letter_post
from delivery.rendering.shortening import ROOMS, UNCUT_ROOMS, LetterRoom, fair_share
from feeds.parsing.entry import Entry

_BODY = re.compile(r"<body\b[^<>]*>", re.IGNORECASE)
_END = re.compile(r"</body\s*>", re.IGNORECASE)
# As in `parts/note.html`.
NOTE_CLASS = "note"
# Gmail clips messages at 102 KB. Posts that are also online are shortened until the letter fits.
MAX_LETTER_HTML = 100_000
# A fuller letter is not rendered again.
_FULL = 0.95
_MOST_TRIES = 3
MAX_OUTPUT = 5_000_000
_UNCUT_BUDGET = 1_000_000  # for posts that are nowhere else
# For posts that are only listed: their titles and addresses, and for each the html around them.
_LISTED_BUDGET, _AROUND_LISTED = 60_000, 80
# Newsletters with the same posts are often rendered one after the other.
_html_of = lru_cache(maxsize=64)(letter_html)
_post_of = lru_cache(maxsize=32)(letter_post)
# Characters of a title that show whether the subject has it.
_SAID = 40
_Numbered = tuple[int, Entry]
NO_POSTS_IN_IT = "An issue without posts cannot be rendered."
_PLAIN = '<div class="{}" style="max-width:552px;margin:0 auto;padding:16px 24px">{}</div>'


@dataclass(frozen=True, slots=True)
class Note:
    html: SafeString
    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    top: Note
    foot: Note


def note_of(html: str, *, base: str) -> Note:
    """Return a note of clean html."""
    shown = for_letter(balance(html), page=base) if html else ""
    return Note(mark_safe(boxed(shown, level=2)), to_text(shown).strip() if shown else "")  # noqa: S308


def with_notes(drawn: RenderedParts, notes: Notes) -> RenderedParts:
    """Add notes that a custom template left out at the top or bottom."""
    html, text = drawn.html, drawn.text
    for note, place in ((notes.top, "top"), (notes.foot, "foot")):
        if not note.html:
            continue
        name = f"{NOTE_CLASS} {NOTE_CLASS}-{place}"
        if name not in html:
            found = (_BODY if place == "top" else _END).search(html)
            usual = 0 if place == "top" else len(html)
            at = usual if found is None else found.end() if place == "top" else found.start()
            html = f"{html[:at]}{_PLAIN.format(name, note.html)}{html[at:]}"
        if note.text not in text:
            text = f"{note.text}\n\n{text}" if place == "top" else f"{text.rstrip()}\n\n{note.text}\n"
    return replace(drawn, html=html, text=text)


def render_issue(facts: IssueFacts) -> Rendered:
    """Render the form letter. Pure except for the template files; takes milliseconds.

    Raises LetterError: unknown or broken template, or letter too large.
    """
    if not facts.entries:
        raise LetterError(NO_POSTS_IN_IT)
    template = facts.template or usual_template(facts)
    engine.known(engine.ISSUE_FOLDER, template)
    with translation.override(spoken(facts.language)), timezone.override(facts.zone):
        elsewhere = all(_is_elsewhere(entry, facts) for entry in facts.entries)
        rendered = _fitted(facts, template, ROOMS if elsewhere else UNCUT_ROOMS)
    if len(rendered.html) > MAX_OUTPUT or len(rendered.text) > MAX_OUTPUT:
        raise LetterError(f"The email is larger than {MAX_OUTPUT:,} characters.")
    return rendered


def usual_template(facts: IssueFacts) -> str:
    """Return `digest`, or for one post `post`, or `announcement` if the feed gives only a link."""
    if facts.arrangement != "each" or len(facts.entries) > 1:
        return "digest"
    (entry,) = facts.entries
    return "post" if entry.html.strip() or entry.media or not web_address(entry.link) else "announcement"


def _is_elsewhere(entry: Entry, facts: IssueFacts) -> bool:
    return bool(facts.archive_url or web_address(entry.link))


def _is_whole(entry: Entry, facts: IssueFacts) -> bool:
    """Return whether the post is sent in full. Without a page elsewhere it always is."""
    return facts.content == FULL_POST or not _is_elsewhere(entry, facts)


def _whole(entry: Entry, facts: IssueFacts) -> str:
    return _html_of(entry) if _is_whole(entry, facts) else ""


def _fitted(facts: IssueFacts, template: str, rooms: Sequence[LetterRoom]) -> Rendered:
    """Render with the first room that fits, else the last.

    The previous room was too large; between the two, show as many characters as fit.
    """
    before: tuple[LetterRoom, int] | None = None
    for room in rooms:
        rendered = _rendered(facts, template, room)
        size = len(rendered.html.encode())
        if size <= MAX_LETTER_HTML:
            break
        before = room, size
    if before is None or size > MAX_LETTER_HTML:
        return rendered
    # Size is nearly linear in the posts and their html, so interpolate.
    html = sum(len(_whole(entry, facts)) for _, entry in _parted(facts, room)[0])
    most = replace(before[0], html=max(room.html, min(max(before[0].html, 2 * room.html), html)))
    larger, low, high = before[1], 0.0, 1.0
    for _ in range(_MOST_TRIES):
        if size >= _FULL * MAX_LETTER_HTML or larger <= size or most == room:
            break
        wanted = (_FULL + 1) / 2 * MAX_LETTER_HTML
        part = low + (high - low) * (wanted - size) / (larger - size)
        attempt = _rendered(facts, template, room.towards(most, part))
        tried = len(attempt.html.encode())
        if tried <= MAX_LETTER_HTML:
            rendered, low, size = attempt, part, tried
        else:
            high, larger = part, tried
    return rendered


def _rendered(facts: IssueFacts, template: str, room: LetterRoom) -> Rendered:
    placeholders = Placeholders(facts.params)
    title = subjects.title(facts.entries, facts.language)
    subject = facts.subject or subjects.subject_line(facts)
    shown, listed = _parted(facts, room)
    # The name of a digest is its first heading.
    heading = 2 if template == "digest" or len(shown) > 1 else 1
    posts = _posts(facts, shown, room, level=heading + 1)
    notes = Notes(*(note_of(html, base=facts.site_url) for html in (facts.note_top, facts.note_foot)))
    dateline, path = subjects.dateline(facts), f"{engine.ISSUE_FOLDER}/{template}"
    # Custom templates place dates themselves; an announcement's header has none.
    head_date = dateline
    if path not in facts.own:
        head_date = "" if template == "announcement" or _dates_itself(posts, dateline) else dateline
        posts = tuple(replace(post, shows_date=post.date != head_date) for post in posts)
    context = {
        "newsletter": look(
            name=facts.readers_name,
            language=facts.language,
            params=facts.params,
            accent=facts.accent,
            theme=facts.theme,
            site=facts.site,
        ),
        "subscribed_to": " / ".join(map(one_line, (facts.readers_name, *facts.other_newsletters))),
        "site": facts.site,
        "description": one_line(facts.description),
        "title": title,
        "subject": subject,
        "dateline": dateline,
        "head_date": head_date,
        "preheader": _preheader(posts, subject),
        "posts": posts,
        "count": len(facts.entries),
        "mentioned": _mentioned(listed),
        "archive_url": web_address(facts.archive_url),
        "site_url": web_address(facts.site_url),
        "notes": notes,
        "content": facts.content,
        "heading": f"h{heading}",
        "takes_replies": facts.takes_replies,
        "sign_up_url": web_address(facts.sign_up_url),
    }
    drawn = engine.render_parts(path, context, placeholders, facts.own.get(path))
    if path in facts.own:
        drawn = with_notes(drawn, notes)
    return Rendered(
        title=title,
        subject=facts.subject or drawn.subject or subject,
        html=drawn.html,
        text=drawn.text,
        placeholders=placeholders.used,
    )


def _dates_itself(posts: Sequence[LetterPost], dateline: str) -> bool:
    """Return whether the only post shows the date: another day, or a post that is only a link."""
    post = posts[0]
    is_link = bool(post.link) and not post.title
    return len(posts) == 1 and bool(post.date) and (post.date != dateline or is_link)


def _preheader(posts: Sequence[LetterPost], subject: str) -> str:
    """Return the text that mail programs show after the subject."""
    first, *others = posts
    if not others:
        by = gettext("by %(authors)s") % {"authors": first.authors} if first.authors else ""
        return first.excerpt or " · ".join(filter(None, (by, first.site)))
    pieces = list(filter(None, (post.title or post.excerpt for post in posts)))
    # A digest's subject usually begins with its first post.
    is_said = len(pieces) > 1 and pieces[0][:_SAID].rstrip(" .…") in subject
    return shortened(" · ".join(pieces[is_said:]), 180)


def _parted(facts: IssueFacts, room: LetterRoom) -> tuple[list[_Numbered], list[_Numbered]]:
    """Return the posts to show and those to list, with their numbers on the issue's page.

    A list of titles is no use for posts that are nowhere else.
    """
    most = max(1, min(facts.most_posts or room.posts, room.posts))
    numbered = list(enumerate(facts.entries, start=1))
    shown = [each for each in numbered if each[0] <= most or not _is_elsewhere(each[1], facts)]
    return shown, [each for each in numbered if each[0] > most and _is_elsewhere(each[1], facts)]


def _mentioned(listed: Sequence[_Numbered]) -> list[dict[str, Any]]:
    mentioned, left = [], _LISTED_BUDGET
    for number, entry in listed:
        title, link = subjects.post_title(entry, longest=120), web_address(entry.link)
        left -= len((title + link).encode()) + _AROUND_LISTED
        if left < 0:
            break
        mentioned.append({"title": title, "link": link, "number": number})
    return mentioned


def _posts(
    facts: IssueFacts, shown: Sequence[_Numbered], room: LetterRoom, *, level: int
) -> tuple[LetterPost, ...]:
    share = fair_share([len(_whole(entry, facts)) for _, entry in shown], room.html)
    uncut = _UNCUT_BUDGET // len(shown)
    posts = [
        _post_of(
            entry,
            whole=_whole(entry, facts),
            share=share if web_address(entry.link) or facts.archive_url else uncut,
            most_media=room.media,
            zone=facts.zone,
            archive_url="" if web_address(entry.link) else web_address(facts.archive_url),
            newsletter_language=facts.language,
            zone_name=facts.time_zone,
            level=level,
        )
        for _, entry in shown
    ]
    return tuple(
        replace(post if _is_whole(entry, facts) else brief_post(post, entry, facts.content), number=number)
        for post, (number, entry) in zip(posts, shown, strict=True)
    )
