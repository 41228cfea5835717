import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.html.clean import plain
from common.text import shortened
from feeds.parsing.pictures import beside
from reader.channels.follows import shared_feed_at
from reader.media.icons import PICTURES, feed_icon, html_by_proxy, picture_by_proxy
from reader.models import AppPassword, Channel, Follow, Reader
from reader.rules.google_names import (
    READ,
    READING_LIST,
    STARRED,
    StreamName,
    post_key,
    post_name,
    stream_name,
)
from reader.rules.order import EPOCH, MICROSECOND, number_in
from reader.rules.parameters import Parameters
from reader.timelines.selections import Standing

Shown = dict[str, Any]
MILLISECOND = timedelta(milliseconds=1)
# Apps ignore enclosures without a type.
USUAL_TYPES = {"audio": "audio/mpeg", "video": "video/mp4", "photo": "image/jpeg", "featured": "image/jpeg"}
ABOUT = ("in-reply-to", "repost-of", "like-of", "bookmark-of", "quotation-of")
MOST_POSTS = 1_000
Answer = Shown | str


class CallError(Exception):
    """Apps look only at the status."""

    def __init__(self, status: HTTPStatus, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


def bad_request(message: str) -> CallError:
    return CallError(HTTPStatus.BAD_REQUEST, message)


def unknown(message: str) -> CallError:
    return CallError(HTTPStatus.NOT_FOUND, message)


def signed_out() -> CallError:
    headers = {"X-Reader-Google-Bad-Token": "true", "Google-Bad-Token": "true"}
    return CallError(HTTPStatus.UNAUTHORIZED, "Unauthorized", headers=headers)


@dataclass(frozen=True, slots=True)
class AppCall:
    """Authorized request. `rest` is the path after the call, `body` an uploaded file."""

    password: AppPassword
    given: Parameters
    now: datetime
    rest: str = ""
    body: bytes = b""

    @property
    def reader(self) -> Reader:
        return self.password.reader

    def posts(self) -> list[int]:
        """Leave out invalid ids. Raises CallError without any."""
        named = self.given.many("i")
        if not named:
            raise bad_request("The parameter i (the posts) is missing.")
        if len(named) > MOST_POSTS:
            raise bad_request(f"Name at most {MOST_POSTS:,} posts per request.")
        keys = (post_key(name) for name in named)
        return [key for key in keys if key is not None]

    def streams(self, name: str) -> list[StreamName]:
        """Raises CallError for invalid names."""
        streams = []
        for text in self.given.many(name):
            stream = stream_name(text)
            if stream is None:
                raise bad_request(f"{name} isn’t a feed, folder or state.")
            streams.append(stream)
        return streams

    def folder(self, name: str) -> Channel | None:
        """Raises CallError if unknown."""
        label = self.label(name)
        channel = self.folder_named(label) if label else None
        if label and channel is None:
            raise unknown("Folder not found.")
        return channel

    def label(self, name: str) -> str:
        return next((stream.value for stream in self.streams(name) if stream.kind == "label"), "")

    def folders(self) -> dict[int, str]:
        channels = self.reader.channels.filter(is_notifications=False).order_by("position", "pk")
        return dict(channels.values_list("pk", "name"))

    def folder_named(self, name: str) -> Channel | None:
        return self.reader.channels.filter(is_notifications=False, name=name).first()

    def follows(self, feed: str) -> list[Follow]:
        """Raises CallError without any."""
        rows = Follow.objects.of(self.reader).filter(feed=feed_key(feed)).order_by("channel__position", "pk")
        follows = list(rows.select_related("feed__icon", "channel__reader"))
        if not follows:
            raise unknown("You don’t follow this feed.")
        return follows


def show_user(call: AppCall) -> Shown:
    reader = call.reader
    return {
        "userId": str(reader.pk),
        "userName": reader.slug,
        "userProfileId": str(reader.pk),
        "userEmail": reader.user.email,
    }


def feed_key(feed: str) -> int | None:
    if feed.isascii() and feed.isdigit():
        return number_in(feed)
    match = shared_feed_at(feed)
    return match.pk if match else None


def post_shown(standing: Standing, folders: Mapping[int, str]) -> Shown:
    """Without some of the keys, apps show nothing of a whole page."""
    entry, feed = standing.entry, standing.entry.feed
    jf2: Mapping[str, Any] = entry.jf2 or {}
    author = (jf2.get("author") or {}).get("name", "")
    site = (feed.site_url or feed.url) if feed else ""
    link = {"href": jf2.get("url") or site}
    published = int((entry.published or entry.seen_at).timestamp())
    post: Shown = {
        "id": post_name(entry.pk),
        "crawlTimeMsec": str((standing.came_at - EPOCH) // MILLISECOND),
        "timestampUsec": microseconds(standing.came_at),
        "published": published,
        "updated": published,
        # Some apps show “No title”.
        "title": jf2.get("name") or shortened(plain(_html(jf2)), 80),
        "canonical": [link],
        "alternate": [{**link, "type": "text/html"}],
        "summary": {"content": _html(jf2)},
        "categories": [str(name) for name in _categories(standing, folders)],
        "origin": {
            "streamId": str(StreamName("feed", str(feed.pk if feed else 0))),
            "title": (feed.title or feed.host) if feed else author,
            "htmlUrl": site,
        },
    }
    if author:
        post["author"] = author
    if files := [file for kind in USUAL_TYPES for file in _files(jf2, kind)]:
        post["enclosure"] = files
    return post


def subscription(follow: Follow, folders: Sequence[str]) -> Shown:
    feed = follow.feed
    icon = feed_icon(feed, site=settings.SITE_URL)
    return {
        "id": str(StreamName("feed", str(feed.pk))),
        "title": follow.title,
        "categories": [{"id": str(StreamName("label", name)), "label": name} for name in folders],
        "url": feed.url,
        "htmlUrl": feed.site_url or feed.url,
        **({"iconUrl": icon} if icon else {}),
    }


def microseconds(moment: datetime) -> str:
    """Return a string, since some languages lack large integers."""
    return str((moment - EPOCH) // MICROSECOND)


def _categories(standing: Standing, folders: Mapping[int, str]) -> list[StreamName]:
    states = [READING_LIST]
    if standing.is_read:
        states.append(READ)
    if standing.is_starred:
        states.append(STARRED)
    named = [folders[channel] for channel in standing.channels if channel in folders]
    return [*states, *(StreamName("label", name) for name in named)]


def _html(jf2: Mapping[str, Any]) -> str:
    """Return text and pictures; apps show only this."""
    content = jf2.get("content") or {}
    html = str(content.get("html") or escape(str(content.get("text") or jf2.get("summary") or "")))
    pictures = beside(jf2.get("photo", ()), html)
    html += "".join(f'<p><img src="{escape(url)}" alt=""></p>' for url in pictures)
    if html:
        return html_by_proxy(html, site=settings.SITE_URL)
    about = (url for relation in ABOUT for url in jf2.get(relation, ()))
    return "".join(f'<p><a href="{escape(url)}">{escape(url)}</a></p>' for url in about)


def _files(jf2: Mapping[str, Any], kind: str) -> list[Shown]:
    usual = USUAL_TYPES[kind]
    start = usual.partition("/")[0]
    files = []
    for url in jf2.get(kind, ()):
        href = picture_by_proxy(url, site=settings.SITE_URL) if kind in PICTURES else url
        type_ = mimetypes.guess_type(urlsplit(url).path)[0] or ""
        files.append({"href": href, "type": type_ if type_.startswith(start) else usual})
    return [one for one in files if one["href"]]
