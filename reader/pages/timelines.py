"""Timelines, single posts, what is starred, what a search finds; and marking them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from common.clock import utcnow
from common.text import one_line
from reader.channels.channels import channel_of
from reader.channels.find import LONGEST_QUERY, search_posts
from reader.micropub.compositions import reactions_to
from reader.models import Follow, Marking, Place, Reader, Unread
from reader.pages.access import back_to, for_readers, keys_in, surroundings
from reader.pages.posts import shown_places, shown_post
from reader.rules.order import LARGEST_KEY, BadCursor, Key, Stretch
from reader.timelines import marks, stars
from reader.timelines.pages import Timeline, page_of
from reader.timelines.undo import (
    NothingToUndo,
    all_below,
    all_between,
    mark_read_undoably,
    older_than,
    undo,
)

FOUND = 50
# What "older than" offers, in days.
AGES = (1, 7, 30)


@for_readers
@require_safe
def timeline(request: HttpRequest, reader: Reader, uid: str = "") -> HttpResponse:
    """All channels, or one of them."""
    channel = channel_of(reader, uid) if uid else None
    unread_only = "unread" in request.GET
    asked = _asked(request)
    page = page_of(Timeline(reader, channel), asked, unread_only=unread_only)
    followed_in = {"channel": channel} if channel else {"channel__reader": reader}
    context = {
        **surroundings(reader, channel),
        "section": "" if channel else "all",
        "posts": shown_places(reader, page.places, page.unread),
        "unread_only": unread_only,
        "older": page.paging.after,
        "is_first_page": asked.from_ is None,
        "top": page.places[0].pk if page.places else 0,
        "has_unread": bool(page.unread) or Unread.objects.filter(**Timeline(reader, channel).owner).exists(),
        "follows_any": Follow.objects.filter(**followed_in).exists(),
        "marking": _marking(request, reader),
        "ages": AGES,
    }
    return render(request, "reader/timeline.html", context)


@for_readers
@require_safe
def post(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    """One post, in full."""
    entry = stars.entry_of(reader, _key(pk))
    places = Place.objects.seen().filter(reader=reader, entry=entry).select_related("channel", "feed")
    place = places.order_by("-at", "-pk").first()
    is_unread = Unread.objects.filter(reader=reader, place__entry=entry).exists()
    is_starred = bool(stars.starred_among(reader, [entry.pk]))
    done = reactions_to(reader, [entry.pk]).get(entry.pk, ())
    shown = shown_post(entry, place=place, is_unread=is_unread, is_starred=is_starred, reactions=done)
    around = surroundings(reader, place.channel if place else None)
    return render(request, "reader/post.html", {**around, "post": shown})


@for_readers
@require_safe
def starred(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What has a star, the last that got one first."""
    asked = _asked(request)
    page = stars.starred_page(reader, asked)
    done = reactions_to(reader, [entry.pk for entry in page.entries])
    context = {
        **surroundings(reader),
        "section": "starred",
        "posts": [
            shown_post(entry, is_starred=True, reactions=done.get(entry.pk, ())) for entry in page.entries
        ],
        "older": page.paging.after,
        "is_first_page": asked.from_ is None,
    }
    return render(request, "reader/starred.html", context)


@for_readers
@require_safe
def search_page(request: HttpRequest, reader: Reader) -> HttpResponse:
    """The newest posts that have all words, in all channels or one."""
    query = one_line(request.GET.get("q", ""))[:LONGEST_QUERY]
    uid = request.GET.get("channel", "")
    channel = channel_of(reader, uid) if uid else None
    page = search_posts(Timeline(reader, channel), query, limit=FOUND) if query else None
    context = {
        **surroundings(reader, channel),
        "section": "search",
        "query": query,
        "posts": shown_places(reader, page.places, page.unread) if page else [],
        "most": FOUND,
    }
    return render(request, "reader/search.html", context)


@for_readers
@require_POST
def mark(request: HttpRequest, reader: Reader) -> HttpResponse:
    """One post, or several at once, read or unread. A script is told the counts, a form is led back."""
    channel = channel_of(reader, request.POST["channel"]) if request.POST.get("channel") else None
    timeline = Timeline(reader, channel)
    back = back_to(
        request, reverse("reader:channel", args=[channel.uid]) if channel else reverse("reader:all")
    )
    act = request.POST.get("act", "")
    places = keys_in(request.POST.getlist("place"))
    if act == "read":
        marks.mark_read(timeline, places)
    elif act == "unread":
        marks.mark_unread(timeline, places)
    elif act in WANTED:
        try:
            marking = mark_read_undoably(
                timeline, WANTED[act](timeline, request.POST, utcnow()), now=utcnow()
            )
        except marks.NoSuchPost as error:
            raise Http404(str(error)) from error
        back = _with_marking(back, marking)
    else:
        raise Http404("There is no such mark.")
    if request.headers.get("Accept") == "application/json":
        return JsonResponse(_counts(reader))
    return HttpResponseRedirect(back)


@for_readers
@require_POST
def undo_marking(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Makes unread again what the page says that it marked."""
    try:
        undo(reader=reader, name=request.POST.get("name", ""))
    except NothingToUndo as error:
        raise Http404(str(error)) from error
    return HttpResponseRedirect(_with_marking(back_to(request, reverse("reader:all")), None))


@for_readers
@require_POST
def change_star(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    """Gives a post a star, or takes it away."""
    entry = stars.entry_of(reader, _key(pk))
    if request.POST.get("act") == "unstar":
        stars.unstar(reader=reader, entries=[entry.pk])
    else:
        stars.star(reader=reader, entries=[entry.pk], now=utcnow())
    if request.headers.get("Accept") == "application/json":
        return JsonResponse(_counts(reader))
    return HttpResponseRedirect(back_to(request, reverse("reader:starred")))


def _place(given: Mapping[str, str], name: str) -> int:
    text = given.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise marks.NoSuchPost("There is no such post in this channel.", name)
    return _key(int(text))


def _older(timeline: Timeline, given: Mapping[str, str], now: datetime) -> Q:
    days = given.get("days", "")
    if days not in map(str, AGES):
        raise Http404("Choose one of the ages that the page offers.")
    return older_than(now - timedelta(days=int(days)))


# What is marked read at once, by the name that forms have for it.
WANTED = {
    "here": lambda timeline, given, _: all_between(timeline, _place(given, "top"), _place(given, "place")),
    "all": lambda timeline, given, _: all_below(timeline, _place(given, "top")),
    "older": _older,
}


def _key(pk: int) -> int:
    if pk > LARGEST_KEY:
        raise Http404("There is no such post.")
    return pk


def _asked(request: HttpRequest) -> Stretch:
    text = request.GET.get("after", "")
    try:
        return Stretch(from_=Key.read(text) if text else None)
    except BadCursor as error:
        raise Http404("There is no such page.") from error


def _marking(request: HttpRequest, reader: Reader) -> Marking | None:
    """The marking that this page tells of, as long as it can be undone."""
    name = request.GET.get("marked", "")
    return Marking.objects.filter(reader=reader, name=name).first() if name else None


def _with_marking(address: str, marking: Marking | None) -> str:
    parts = urlsplit(address)
    query = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key != "marked"]
    if marking is not None:
        query.append(("marked", marking.name))
    return parts._replace(query=urlencode(query)).geturl()


def _counts(reader: Reader) -> dict[str, Any]:
    around = surroundings(reader)
    counts = {line.uid: {"count": line.count, "has": line.has_unread} for line in around["channels"]}
    return {"channels": counts, "all": around["all_unread"]}
