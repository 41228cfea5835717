from collections.abc import Mapping
from dataclasses import asdict
from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.views.decorators.http import require_safe

from common.clock import utcnow
from common.rates import Limit
from common.text import one_line
from feeds.parsing.media import absolute
from feeds.parsing.opml import Listed, write_opml
from reader.indieauth.client import Begun, begin, finish
from reader.indieauth.discovery import discover, profile_of, site_url
from reader.models import Follow, Reader
from reader.pages.access import reading_page
from reader.pages.compose import ConnectPage
from reader.people.readers import reading
from reader.people.tokens import connect_site, disconnect_site
from reader.rules.identity import LONGEST_IDENTITY

MOST_LISTED = 2_000


class OwnSite(ConnectPage):
    template_name = "reader/own_site.html"
    section = "account"
    success_url = reverse_lazy("reader:site")
    limit = Limit("own-site", 10)
    session_key = "own_site"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            me=profile_of(self.reader),
            microsub=site_url("reader:microsub", self.reader.slug),
            webmention=site_url("reader:webmention", self.reader.slug),
            longest=LONGEST_IDENTITY,
            **kwargs,
        )

    def begin(self, me: str) -> Begun:
        return begin(discover(me), redirect_uri=site_url("reader:site_back"), now=utcnow())

    def finish(self, kept: Mapping[str, Any], answer: Mapping[str, str]) -> None:
        granted = finish(kept, answer, now=utcnow())
        connect_site(reader=self.reader, me=granted.me, endpoints=asdict(granted.endpoints), now=utcnow())

    def disconnect(self) -> None:
        disconnect_site(reader=self.reader)


@reading_page
@require_safe
def profile(request: HttpRequest, slug: str) -> HttpResponse:
    """Show an h-card, with the clients' endpoints in header and page."""
    reader = _reader(slug)
    follows = published(reader)
    links = {
        "indieauth-metadata": site_url("reader:metadata"),
        "authorization_endpoint": site_url("reader:authorize"),
        "token_endpoint": site_url("reader:token"),
        "microsub": site_url("reader:microsub", reader.slug),
        "webmention": site_url("reader:webmention", reader.slug),
    }
    if follows:
        links["blogroll"] = site_url("reader:blogroll", reader.slug)
    context = {
        "reader": reader,
        "name": reader.full_name,
        "me": profile_of(reader),
        "links": links,
        "channels": [
            (channel, [(one.feed, absolute(one.feed.site_url, "") or one.feed.url) for one in group])
            for channel, group in groupby(follows, key=lambda one: one.channel)
        ],
    }
    response = render(request, "reader/profile.html", context)
    response.headers["Link"] = ", ".join(f'<{url}>; rel="{rel}"' for rel, url in links.items())
    return response


@reading_page
@require_safe
def blogroll(request: HttpRequest, slug: str) -> HttpResponse:
    reader = _reader(slug)
    feeds = {follow.feed_id: follow.feed for follow in published(reader)}
    if not feeds:
        raise Http404("Nothing is published here.")
    listed = (Listed(feed.url, feed.title, feed.site_url, feed.language) for feed in feeds.values())
    lines = write_opml(listed, title=f"What {one_line(reader.full_name)} reads", created=utcnow())
    return HttpResponse("".join(lines), content_type="text/x-opml")


def published(reader: Reader) -> list[Follow]:
    """Return follows in published channels, without feeds that need credentials."""
    rows = Follow.objects.of(reader).filter(channel__is_published=True).select_related("feed", "channel")
    rows = rows.order_by("channel__position", "channel", "feed__title", "pk")
    return [follow for follow in rows[:MOST_LISTED] if not follow.feed.credentials]


def _reader(slug: str) -> Reader:
    reader = reading(slug=slug)
    if reader is None:
        raise Http404("No one with that name reads here.")
    return reader
