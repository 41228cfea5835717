import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from common.directions import text_direction, title_direction
from common.formats.written_dates import parsed_moment
from common.html.balance import attributes, scheme
from common.html.images import IMG
from common.text import one_line, shortened
from common.truncation import cut_to
from feeds.models import Feed
from feeds.parsing.pictures import beside
from reader.media.icons import feed_icon, html_by_proxy, picture_by_proxy, pictures_by_proxy
from reader.media.pictures import Busy, key_of, picture_at, picture_type, stamped_url
from reader.micropub.compositions import reactions_to
from reader.models import Composition, Entry, Follow, Reader, TimelineEntry
from reader.people.picks import notes_among
from reader.rules import micropub
from reader.rules.filters import LONGEST_TERM
from reader.rules.mail_posts import CONFIRM
from reader.timelines.stars import starred_among

HEADERS = {
    "Cache-Control": "public, max-age=604800, immutable",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Content-Disposition": "inline",
    "X-Content-Type-Options": "nosniff",
    # Clients in browsers have other origins.
    "Cross-Origin-Resource-Policy": "cross-origin",
}
# Timelines show the beginning of longer posts.
LONGEST_WHOLE = 900
LONGEST_BEGINNING = 400
LONGEST_EXCERPT = 200
MOST_PICTURES = 20
MOST_PLAYERS = 20
_HEADING = re.compile(r"<(/?)h[1-6](?=[ >])")
RELATIONS = {
    "in-reply-to": gettext_lazy("In reply to"),
    # Translators: a verb; a person is the subject, as in “Ada likes”.
    "repost-of": gettext_lazy("Reposts"),
    "like-of": gettext_lazy("Likes"),
    "bookmark-of": gettext_lazy("Bookmarks"),
    "quotation-of": gettext_lazy("Quotes"),
    "mention-of": gettext_lazy("Mentions"),
}
WRITTEN_KIND_WORDS = {
    micropub.NOTE: gettext_lazy("A note"),
    micropub.ARTICLE: gettext_lazy("An article"),
    micropub.REPLY: gettext_lazy("A reply"),
    micropub.RSVP: gettext_lazy("A response to an invitation"),
    micropub.LIKE: gettext_lazy("A like"),
    micropub.REPOST: gettext_lazy("A repost"),
    micropub.BOOKMARK: gettext_lazy("A bookmark"),
}
STATE_WORDS = {
    Composition.State.KEPT: gettext_lazy("draft"),
    Composition.State.WAITING: gettext_lazy("sending"),
    Composition.State.SENDING: gettext_lazy("sending"),
    Composition.State.UNSURE: gettext_lazy("perhaps posted"),
    Composition.State.POSTED: gettext_lazy("posted"),
    Composition.State.REFUSED: gettext_lazy("not posted"),
}


@require_safe
def media(request: HttpRequest, mac: str, packed: str) -> HttpResponse:
    """Return 403 for an address without our signature, 404 for one that is no picture."""
    url = stamped_url(mac, packed)
    if url is None:
        return HttpResponse(status=HTTPStatus.FORBIDDEN)
    etag = f'"{key_of(url)[:32]}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=HTTPStatus.NOT_MODIFIED, headers={**HEADERS, "ETag": etag})
    try:
        picture = picture_at(url)
    except Busy:
        again = {"Retry-After": "5", "Cache-Control": "no-store"}
        return HttpResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, headers=again)
    if picture is None:
        return HttpResponse(status=HTTPStatus.NOT_FOUND, headers={"Cache-Control": "public, max-age=600"})
    return HttpResponse(picture, content_type=picture_type(picture), headers={**HEADERS, "ETag": etag})


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """`location` is "" if unknown."""

    row: Composition

    @property
    def kind(self) -> str:
        return str(WRITTEN_KIND_WORDS[self.row.said["kind"]])

    @property
    def state(self) -> str:
        return str(STATE_WORDS[Composition.State(self.row.state)])

    @property
    def words(self) -> str:
        said = micropub.fitting(micropub.Said.from_json(self.row.said))
        return said.name or said.content or said.url

    @property
    def location(self) -> str:
        return web_address(self.row.location)


@dataclass(frozen=True, slots=True)
class Reference:
    words: str
    url: str
    name: str


class ShownPost:
    """Post as templates show it. `place` is 0 and `channel` "" outside timelines."""

    def __init__(
        self,
        entry: Entry,
        place: TimelineEntry | None,
        *,
        feed_name: str,
        is_unread: bool,
        is_starred: bool,
        reactions: Iterable[Composition],
        heading: int,
        note: tuple[str, str],
    ) -> None:
        """Use the reader's name for the feed. `heading` is the level of headings in the text."""
        jf2: Mapping[str, Any] = entry.jf2 or {}
        content, author = jf2.get("content") or {}, jf2.get("author") or {}
        text = str(content.get("text", ""))
        feed = place.feed if place else entry.feed
        summary = str(jf2.get("summary", "")) or text
        html = str(content.get("html", "")) or escape(text or summary)
        in_text = IMG.search(html)
        first = picture_by_proxy(attributes(in_text[1]).get("src")) if in_text else ""
        self.entry = entry.pk
        self.place = place.pk if place else 0
        self.channel = place.channel.uid if place else ""
        self.channel_name = place.channel.name if place else ""
        self.title = str(jf2.get("name", ""))
        self.url = web_address(jf2.get("url"))
        self.author = str(author.get("name", ""))
        self.author_url = web_address(author.get("url"))
        # The feed's address replaces a missing one.
        self.author_term = _author_term(author, feed)
        self.author_photo = picture_by_proxy(author.get("photo"))
        self.feed = feed.pk if feed else 0
        self.feed_name = feed_name or ((feed.title or feed.host) if feed else "")
        self.feed_icon = feed_icon(feed) if feed else ""
        self.at = parsed_moment(jf2.get("published")) or entry.seen_at
        self.html = shown_html(html, heading=heading)
        self.beginning = cut_to(summary, LONGEST_BEGINNING) if len(text) > LONGEST_WHOLE else ""
        # For cards; shorter than `beginning`.
        self.excerpt = cut_to(one_line(summary), LONGEST_EXCERPT)
        # Outside the text, and the one for the beginning.
        self.pictures = _pictures(jf2, html)
        self.first_picture = self.pictures[0] if self.pictures else first
        self.references = tuple(_references(jf2))
        self.audio = tuple(filter(None, map(web_address, jf2.get("audio", ()))))[:MOST_PLAYERS]
        self.video = tuple(filter(None, map(web_address, jf2.get("video", ()))))
        self.categories = tuple(map(str, jf2.get("category", ())))[:10]
        self.is_unread = is_unread
        self.is_starred = is_starred
        self.direction = text_direction(summary or self.title, "")
        self.title_direction = title_direction(self.title, self.direction)
        self.reactions = tuple(map(WrittenLine, reactions))
        # Link of an email that asks to confirm a subscription.
        self.confirm = web_address(next(iter(jf2.get(CONFIRM, ())), ""))
        # In the reader's picks.
        self.note, self.tags = note

    @property
    def done(self) -> frozenset[str]:
        """Kinds of reactions, without refused ones."""
        rows = (line.row for line in self.reactions)
        return frozenset(row.said["kind"] for row in rows if row.state != Composition.State.REFUSED)

    @property
    def name(self) -> str:
        return self.title or self.beginning or self.author or self.feed_name or self.url


def shown_places(
    reader: Reader, places: Iterable[TimelineEntry], unread: Collection[int], *, heading: int = 3
) -> list[ShownPost]:
    return shown_posts(reader, [(place.entry, place) for place in places], unread, heading=heading)


def shown_posts(
    reader: Reader,
    posts: Collection[tuple[Entry, TimelineEntry | None]],
    unread: Collection[int] = (),
    *,
    heading: int = 3,
) -> list[ShownPost]:
    keys = [entry.pk for entry, _ in posts]
    starred, done = starred_among(reader, keys), reactions_to(reader, keys)
    names, notes = Follow.objects.of(reader).names(), notes_among(reader, starred)
    return [
        ShownPost(
            entry,
            place,
            feed_name=names.get((place.channel_id, place.feed_id or 0), "") if place else "",
            is_unread=place is not None and place.pk in unread,
            is_starred=entry.pk in starred,
            reactions=done.get(entry.pk, ()),
            heading=heading,
            note=notes.get(entry.pk, ("", "")),
        )
        for entry, place in posts
    ]


def _author_term(author: Mapping[str, Any], feed: Feed | None) -> str:
    name, url = str(author.get("name", "")), author.get("url")
    is_feeds = not url or (feed is not None and url in (feed.site_url, feed.url))
    term = f"/^{re.escape(name)}$/" if name and is_feeds and not (feed and name == feed.title) else ""
    return term if len(term) <= LONGEST_TERM else ""


def shown_html(html: str, *, heading: int = 3) -> SafeString:
    """Put headings below the post's title. The HTML was sanitized on arrival."""
    html = html_by_proxy(_HEADING.sub(rf"<\1h{heading}", html), loading="lazy", decoding="async")
    return mark_safe(html)  # noqa: S308 - cleaned by common.html


def web_address(url: object) -> str:
    """Return "" unless pages may link to it."""
    return str(url) if url and scheme(str(url)) in ("http", "https") else ""


def _pictures(jf2: Mapping[str, Any], html: str) -> tuple[str, ...]:
    # A featured picture is a smaller copy of a photo.
    urls = map(str, jf2.get("photo", ()) or jf2.get("featured", ()))
    return tuple(pictures_by_proxy(beside(urls, html)))[:MOST_PICTURES]


def _references(jf2: Mapping[str, Any]) -> Iterable[Reference]:
    refs = jf2.get("refs") or {}
    for relation, words in RELATIONS.items():
        for url in jf2.get(relation, ()):
            if address := web_address(url):
                name = (refs.get(url) or {}).get("name") or address.partition("://")[2]
                yield Reference(str(words), address, shortened(str(name), 120))
