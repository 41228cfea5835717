"""Errors of RFC 6750 §3.1, and Microsub's own."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings

from feeds.models import Feed
from reader.media.icons import feed_icon, jf2_by_proxy
from reader.models import Channel, Follow, TimelineEntry, Token
from reader.rules.jf2 import without_nothing
from reader.timelines.pages import Page, Timeline

Json = dict[str, Any]


def page_json(page: Page, timeline: Timeline, token: Token) -> Json:
    in_all = timeline.channel is None
    names = Follow.objects.of(timeline.reader).names()
    items = [
        item(
            place,
            is_read=place.pk not in page.unread,
            token=token,
            in_all=in_all,
            name=names.get((place.channel_id, place.feed_id or 0), ""),
        )
        for place in page.places
    ]
    paging = without_nothing({"before": page.paging.before, "after": page.paging.after})
    return {"items": items, "paging": paging}


def item(place: TimelineEntry, *, is_read: bool, token: Token, in_all: bool, name: str = "") -> Json:
    """`name` replaces its feed's title."""
    post = jf2_by_proxy(place.entry.jf2 or {}, site=settings.SITE_URL)
    found: Json = {"type": "entry", **post, "_id": str(place.pk), "_is_read": is_read}
    if place.feed is not None:
        source = feed_source(place.feed, name)
        found |= {"_feed": source, "_source": source if token.source_as_object else source["_id"]}
    if in_all:
        found["_channel"] = {"uid": place.channel.uid, "name": place.channel.name}
    return found


def feed_source(feed: Feed, name: str = "") -> Json:
    source = {"_id": str(feed.pk), "url": feed.url, "name": name or feed.title or feed.host}
    photo = feed_icon(feed, site=settings.SITE_URL)
    return {**source, "photo": photo} if photo else source


def unread_json(channel: Channel, count: int) -> Json:
    """Return a number, a boolean or nothing."""
    match channel.unread_mode:
        case Channel.UnreadMode.COUNT:
            return {"unread": count}
        case Channel.UnreadMode.FLAG:
            return {"unread": count > 0}
        case _:
            return {}


def channel_json(channel: Channel, count: int) -> Json:
    return {"uid": channel.uid, "name": channel.name, **unread_json(channel, count)}


class ApiError(Exception):
    """`code` is for programs."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        message: str,
        *,
        more: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.more, self.headers = dict(more or {}), dict(headers or {})


def invalid(message: str, code: str = "invalid_request") -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, code, message)


def not_found(message: str) -> ApiError:
    return ApiError(HTTPStatus.NOT_FOUND, "not_found", message)


def unauthorized(message: str, code: str = "unauthorized") -> ApiError:
    return ApiError(HTTPStatus.UNAUTHORIZED, code, message, headers={"WWW-Authenticate": "Bearer"})


def unavailable(error: Exception, seconds: int) -> ApiError:
    wait = {"Retry-After": str(seconds)}
    return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "temporarily_unavailable", str(error), headers=wait)


def insufficient_scope(*scopes: str) -> ApiError:
    named = " or ".join(scopes)
    return ApiError(
        HTTPStatus.FORBIDDEN,
        "insufficient_scope",
        f"The token doesn’t have the scope {named}.",
        more={"scope": scopes[0]},
    )
