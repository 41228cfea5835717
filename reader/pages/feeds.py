from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.clock import utcnow
from common.refused import Refused
from common.text import natural_order, one_line
from feeds.adding.discover import Discovery, discover
from feeds.addresses import MAX_FEED_URL
from feeds.polling.poll import request_poll
from reader.channels.channels import NoSuchChannel, add_channel, channel_of
from reader.channels.follows import (
    change_address,
    follow_address,
    may_look,
    move_follow,
    rename_follow,
    shared_feed_at,
    unfollow,
)
from reader.media.icons import feed_icon
from reader.models import Follow, Reader, TimelineEntry
from reader.models.channel import LONGEST_FOLLOW_NAME
from reader.pages.access import for_readers, surroundings
from reader.pages.timelines import shown_timeline
from reader.rules.order import LARGEST_KEY
from reader.timelines.pages import Timeline

# Its server is polled once, however many readers ask.
READ_AGAIN_AFTER = timedelta(minutes=1)


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def follow(request: HttpRequest, reader: Reader) -> HttpResponse:
    """A POST discovers feeds, or (`act`) follows one."""
    if request.method != "POST":
        return _form(request, reader, url=request.GET.get("url", ""), uid=request.GET.get("channel", ""))
    url, uid = one_line(request.POST.get("url", ""))[:MAX_FEED_URL], request.POST.get("channel", "")
    if request.POST.get("act") == "follow":
        return _follow(request, reader, url, uid)
    if not may_look(reader):
        problem = gettext("Too many attempts. Wait a minute.")
        return _form(request, reader, url=url, uid=uid, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        discovery = discover(url, now=utcnow())
    except ValidationError:
        problem = gettext("This isn’t a web address. Use one like https://example.org.")
        return _form(request, reader, url=url, uid=uid, problem=problem, status=HTTPStatus.BAD_REQUEST)
    problem = "" if discovery.candidates else gettext("No feed was found at this address.")
    return _form(
        request, reader, url=url, uid=uid, found=discovery, problem=problem, details=discovery.problem
    )


@for_readers
@require_safe
def feeds(request: HttpRequest, reader: Reader) -> HttpResponse:
    rows = Follow.objects.of(reader).select_related("feed__icon", "channel")
    by_channel: list[Any] = sorted(
        rows, key=lambda row: (row.channel.position, row.channel_id, natural_order(row.title))
    )
    for row in by_channel:
        row.icon = feed_icon(row.feed)
    left = request.GET.get("left", "")
    context = {
        **surroundings(reader),
        "section": "feeds",
        "follows": by_channel,
        "left": left,
        "left_channel": reader.channels.filter(uid=request.GET.get("from", "")).first() if left else None,
    }
    return render(request, "reader/feeds.html", context)


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def feed(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    """Show a feed and its posts. A POST polls, renames, moves it or changes its address.

    The page outlives the follow as long as there are posts.
    """
    if request.method != "POST":
        return _feed_page(request, reader, pk)
    act, here = request.POST.get("act", ""), reverse("reader:feed", args=[pk])
    follow = _follow_in(_follows(reader, pk), request)
    if act in ("read", "address") and not may_look(reader):
        problem = gettext("Too many attempts. Wait a minute.")
        return _feed_page(request, reader, pk, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    if act == "read":
        last = follow.feed.last_polled_at
        if last is None or utcnow() - last >= READ_AGAIN_AFTER:
            request_poll(feed_ids=[pk], now=utcnow())
        return HttpResponseRedirect(f"{here}?reading")
    try:
        if act == "address":
            url = one_line(request.POST.get("url", ""))[:MAX_FEED_URL]
            new = change_address(reader=reader, feed=follow.feed, url=url)
            return HttpResponseRedirect(reverse("reader:feed", args=[new.pk]))
        if act == "move":
            to = channel_of(reader, request.POST.get("to", ""))
            move_follow(follow=follow, to=to, now=utcnow(), with_posts=True)
        else:
            rename_follow(follow=follow, name=request.POST.get("name", ""))
    except NoSuchChannel:
        raise
    except (Refused, ValidationError) as error:
        problem = gettext("The address couldn’t be changed.")
        details = str(error) if isinstance(error, Refused) else " ".join(error.messages)
        status = HTTPStatus.BAD_REQUEST
        return _feed_page(request, reader, pk, problem=problem, details=details, status=status)
    return HttpResponseRedirect(here)


def _feed_page(
    request: HttpRequest,
    reader: Reader,
    pk: int,
    *,
    problem: str = "",
    details: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    places = TimelineEntry.objects.filter(reader=reader, feed=min(pk, LARGEST_KEY))
    follows = _follows_of(reader, pk)
    newest = places.seen().select_related("channel", "feed").order_by("-pk").first() if not follows else None
    channels = [follow.channel for follow in follows] or ([newest.channel] if newest else [])
    feed = follows[0].feed if follows else newest.feed if newest else None
    if feed is None:
        raise Http404("You don’t follow this feed.")
    chosen = request.GET.get("channel", "")
    channel = next((one for one in channels if one.uid == chosen), channels[0])
    title = next((one.title for one in follows if one.channel == channel), feed.title or feed.host)
    around = surroundings(reader, channel)
    context = {
        **around,
        **shown_timeline(request, Timeline(reader, channel, feed.pk)),
        "section": "feeds",
        "layout": channel.layout,
        "only_feed": feed.pk,
        "in_channel": channel.uid if len(channels) > 1 else "",
        "feed": feed,
        "title": title,
        "longest": LONGEST_FOLLOW_NAME,
        "longest_address": MAX_FEED_URL,
        "follows": follows,
        "follows_any": True,
        "choices": [line for line in around["channels"] if not line.is_notifications],
        "muted": places.filter(hidden=TimelineEntry.Hidden.MUTED).count(),
        "hidden": places.filter(hidden=TimelineEntry.Hidden.FILTERED).count(),
        "is_reading": "reading" in request.GET,
        "problem": problem,
        "details": details,
        "now": utcnow(),
    }
    return render(request, "reader/feed.html", context, status=status)


@for_readers
@require_POST
def stop_following(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    """Unfollow in one channel; the list offers to undo it."""
    followed = _follow_in(_follows(reader, pk), request)
    unfollow(channel=followed.channel, feed=followed.feed, now=utcnow())
    query = urlencode({"left": followed.feed.url, "from": followed.channel.uid})
    return HttpResponseRedirect(f"{reverse('reader:feeds')}?{query}")


def _follow(request: HttpRequest, reader: Reader, url: str, uid: str) -> HttpResponse:
    name = one_line(request.POST.get("new_channel", ""))
    if shared_feed_at(url) is None and not may_look(reader):
        problem = gettext("Too many attempts. Wait a minute.")
        return _form(request, reader, url=url, uid=uid, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        channel = add_channel(reader=reader, name=name) if name else channel_of(reader, uid)
        follow_address(channel=channel, url=url)
    except NoSuchChannel:
        raise
    except (Refused, ValidationError) as error:
        problem = gettext("This feed couldn’t be followed.")
        details = str(error) if isinstance(error, Refused) else " ".join(error.messages)
        status = HTTPStatus.BAD_REQUEST
        return _form(request, reader, url=url, uid=uid, problem=problem, details=details, status=status)
    return HttpResponseRedirect(reverse("reader:channel", args=[channel.uid]))


def _form(
    request: HttpRequest,
    reader: Reader,
    *,
    url: str,
    uid: str,
    found: Discovery | None = None,
    problem: str = "",
    details: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """`details` are in English only."""
    followed = set(Follow.objects.of(reader).values_list("feed__url", flat=True))
    around = surroundings(reader)
    context = {
        **around,
        "section": "follow",
        "url": url,
        "uid": uid,
        "found": found,
        "candidates": [(each, each.url in followed) for each in found.candidates] if found else [],
        "choices": [line for line in around["channels"] if not line.is_notifications],
        "problem": problem,
        "details": details,
    }
    return render(request, "reader/follow.html", context, status=status)


def _follows(reader: Reader, pk: int) -> list[Follow]:
    """Raises Http404 if there are none."""
    follows = _follows_of(reader, pk)
    if not follows:
        raise Http404("You don’t follow this feed.")
    return follows


def _follows_of(reader: Reader, pk: int) -> list[Follow]:
    rows = Follow.objects.of(reader).filter(feed=min(pk, LARGEST_KEY))
    return list(rows.select_related("feed__icon", "channel").order_by("pk"))


def _follow_in(follows: list[Follow], request: HttpRequest) -> Follow:
    for follow in follows:
        if follow.channel.uid == request.POST.get("channel"):
            return follow
    raise Http404("This feed isn’t followed in that channel.")
