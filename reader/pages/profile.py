"""A reader's page for everyone: who they are, where they sign in, and what they read if they publish it."""

from itertools import groupby

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from common.clock import utcnow
from common.text import one_line
from feeds.parsing.media import absolute
from feeds.parsing.opml import Listed, write_opml
from reader.indieauth.addresses import profile_of, site_url
from reader.indieauth.endpoints import name_of
from reader.models import Follow, Reader
from reader.pages.access import reading_page
from reader.people.readers import may_read

MOST_LISTED = 2_000


@reading_page
@require_safe
def profile(request: HttpRequest, slug: str) -> HttpResponse:
    """An h-card, with the links by which clients find what they need in the header and in the page."""
    reader = _reader(slug)
    follows = published(reader)
    links = rels(reader)
    if follows:
        links["blogroll"] = site_url("reader:blogroll", reader.slug)
    context = {
        "reader": reader,
        "name": name_of(reader),
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
    """What a reader publishes of what they follow, for other programs."""
    reader = _reader(slug)
    feeds = {one.feed_id: one.feed for one in published(reader)}
    if not feeds:
        raise Http404("Nothing is published here.")
    listed = (Listed(feed.url, feed.title, feed.site_url, feed.language) for feed in feeds.values())
    lines = write_opml(listed, title=f"What {one_line(name_of(reader))} reads", created=utcnow())
    return HttpResponse("".join(lines), content_type="text/x-opml")


def rels(reader: Reader) -> dict[str, str]:
    """What the page links to, by relation."""
    return {
        "indieauth-metadata": site_url("reader:metadata"),
        "authorization_endpoint": site_url("reader:authorize"),
        "token_endpoint": site_url("reader:token"),
        "microsub": site_url("reader:microsub", reader.slug),
        "webmention": site_url("reader:webmention", reader.slug),
    }


def published(reader: Reader) -> list[Follow]:
    """The feeds of the channels that the reader publishes; none that anybody needs a password for."""
    rows = Follow.objects.filter(channel__reader=reader, channel__is_published=True)
    rows = rows.select_related("feed", "channel").order_by(
        "channel__position", "channel", "feed__title", "pk"
    )
    return [one for one in rows[:MOST_LISTED] if not one.feed.credentials]


def _reader(slug: str) -> Reader:
    reader = Reader.objects.select_related("user").filter(slug=slug).first()
    if reader is None or not may_read(reader):
        raise Http404("Nobody of that name reads here.")
    return reader
