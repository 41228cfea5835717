from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.clock import utcnow
from common.refused import Refused
from common.text import one_line
from feeds.items.history import rewordings
from reader.channels.channels import channel_of, choose_columns
from reader.channels.find import LONGEST_QUERY, search_posts
from reader.models import Channel, Marking, Reader, TimelineEntry, Unread
from reader.pages.access import POLICY, back_to, counts_of, for_readers, keys_in, surroundings
from reader.pages.posts import shown_places, shown_posts, web_address
from reader.people.picks import annotate
from reader.rules.order import BadCursor, Key, PageRequest, number_in
from reader.rules.saving import save_address
from reader.timelines import marks, stars
from reader.timelines.marks import all_below, all_between, mark_read_undoably, undo
from reader.timelines.pages import Timeline, neighbours, newest_key, page_of

FOUND = 50
# Days.
OLDEST = 3_650
MOST_COLUMNS = 12
POSTS_IN_A_COLUMN = 20
CHANGES_SHOWN = 3


@for_readers
@require_safe
def timeline(request: HttpRequest, reader: Reader, uid: str = "") -> HttpResponse:
    channel = channel_of(reader, uid) if uid else None
    context = {
        **surroundings(reader, channel),
        **shown_timeline(request, Timeline(reader, channel)),
        "section": "" if channel else "all",
        "layout": channel.layout if channel else Channel.Layout.LIST,
    }
    return render(request, "reader/timeline.html", context)


def shown_timeline(request: HttpRequest, timeline: Timeline) -> dict[str, Any]:
    reader = timeline.reader
    unread_only = "unread" in request.GET or (reader.unread_only and "all" not in request.GET)
    oldest_first = "oldest" in request.GET or (reader.oldest_first and "newest" not in request.GET)
    asked = _asked(request, oldest_first=oldest_first)
    is_first_page = asked.from_ is None
    # First, so that posts between the two queries count as new.
    newest = newest_key(timeline) if is_first_page else None
    page = page_of(timeline, asked, unread_only=unread_only)
    is_filtered = timeline.channel and timeline.feed is None and not page.places
    filtered = TimelineEntry.objects.filter(channel=timeline.channel, hidden=TimelineEntry.Hidden.FILTERED)
    return {
        "posts": shown_places(reader, page.places, page.unread),
        "unread_only": unread_only,
        "older": page.paging.after,
        "is_first_page": is_first_page,
        "newest": str(newest or ""),
        "top": page.places[0].pk if page.places else 0,
        "newest_place": newest.place if newest else 0,
        "oldest_first": oldest_first,
        # For links that override the reader's default.
        "show_all": "all" if reader.unread_only else "",
        "show_newest": "newest&" if reader.oldest_first else "",
        "has_unread": bool(page.unread) or timeline.unread().exists(),
        "filtered": filtered.count() if is_filtered else 0,
        "marking": marking_of(request, reader),
        "oldest": OLDEST,
    }


@for_readers
@require_safe
def post(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    entry = stars.entry_of(reader, pk)
    places = TimelineEntry.objects.seen().filter(reader=reader, entry=entry)
    place = places.select_related("channel", "feed__icon", "entry").order_by("-at", "-pk").first()
    newer, older = neighbours(place) if place else (None, None)
    if place is None:
        (shown,) = shown_posts(reader, [(entry, None)], heading=2)
    else:
        is_unread = Unread.objects.filter(reader=reader, place__entry=entry).exists()
        (shown,) = shown_places(reader, [place], [place.pk] if is_unread else [], heading=2)
    around = surroundings(reader, place.channel if place else None)
    changed = rewordings(entry.item_id, limit=CHANGES_SHOWN) if entry.item_id else []
    context = {**around, "post": shown, "newer": newer, "older": older, "rewordings": changed}
    response = render(request, "reader/post.html", context)
    if shown.audio:
        # Any server, since audio files redirect. None load before somebody presses play.
        response.headers["Content-Security-Policy"] = f"{POLICY}; media-src https: http:"
    return response


@for_readers
@require_safe
def save(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    jf2 = stars.entry_of(reader, pk).jf2 or {}
    url = web_address(jf2.get("url"))
    if not reader.save_template or not url:
        raise Http404
    address = save_address(reader.save_template, url=url, title=str(jf2.get("name", "")))
    return HttpResponseRedirect(address)


@for_readers
@require_safe
def starred(request: HttpRequest, reader: Reader) -> HttpResponse:
    asked = _asked(request)
    entries, paging = stars.starred_page(reader, asked)
    context = {
        **surroundings(reader),
        "section": "starred",
        "posts": shown_posts(reader, [(entry, None) for entry in entries]),
        "older": paging.after,
        "is_first_page": asked.from_ is None,
    }
    return render(request, "reader/starred.html", context)


@for_readers
@require_safe
def search_page(request: HttpRequest, reader: Reader) -> HttpResponse:
    query = one_line(request.GET.get("q", ""))[:LONGEST_QUERY]
    uid = request.GET.get("channel", "")
    channel = channel_of(reader, uid) if uid else None
    page, refusal = None, ""
    try:
        page = search_posts(Timeline(reader, channel), query, limit=FOUND)
    except Refused as error:
        refusal = str(error)
    context = {
        **surroundings(reader, channel),
        "section": "search",
        "query": query,
        "refusal": refusal,
        "marking": marking_of(request, reader),
        "posts": shown_places(reader, page.places, page.unread) if page else [],
        "most": FOUND,
    }
    return render(request, "reader/search.html", context)


@for_readers
@require_POST
def mark(request: HttpRequest, reader: Reader) -> HttpResponse:
    channel = channel_of(reader, request.POST["channel"]) if request.POST.get("channel") else None
    timeline = Timeline(reader, channel, number_in(request.POST.get("feed", "")))
    usual = reverse("reader:channel", args=[channel.uid]) if channel else reverse("reader:all")
    back = back_to(request, usual)
    act, marking = request.POST.get("act", ""), None
    if act == "open":
        # Sent when a post is opened: earlier markings can still be undone.
        marks.mark_read(timeline, keys_in(request.POST.getlist("place")))
    elif act == "unread":
        marks.mark_unread(timeline, keys_in(request.POST.getlist("place")))
    elif act in TIMELINE_FILTERS:
        wanted = TIMELINE_FILTERS[act](timeline, request.POST, utcnow())
        onto = request.POST.get("onto", "")
        marking = mark_read_undoably(timeline, wanted, now=utcnow(), onto=onto)
        back = _with_marking(back, marking)
    else:
        raise Http404("Mark not found.")
    return _marked(request, reader, back, marking=_told(marking) if marking else None)


@for_readers
@require_POST
def undo_marking(request: HttpRequest, reader: Reader) -> HttpResponse:
    undo(reader=reader, name=request.POST.get("name", ""))
    return _marked(request, reader, _with_marking(back_to(request, reverse("reader:all")), None))


@for_readers
@require_POST
def change_star(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    entry = stars.entry_of(reader, pk)
    if request.POST.get("act") == "note" and reader.has_picks:
        note, tags = request.POST.get("note", ""), request.POST.get("tags", "")
        annotate(reader=reader, entry=entry.pk, note=note, tags=tags, now=utcnow())
    elif request.POST.get("act") == "unstar":
        stars.unstar(reader=reader, entries=[entry.pk])
    else:
        stars.star(reader=reader, entries=[entry.pk], now=utcnow())
    return _marked(request, reader, back_to(request, reverse("reader:starred")))


def _marked(request: HttpRequest, reader: Reader, back: str, **more: Any) -> HttpResponse:
    """Return the counts to scripts, and a redirect to forms."""
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"counts": counts_of(reader), **more})
    return HttpResponseRedirect(back)


def _place(given: Mapping[str, str], name: str) -> int:
    number = number_in(given.get(name, ""))
    if number is None:
        raise marks.NoSuchPost("This post isn’t in this channel.", name)
    return number


def _older(timeline: Timeline, given: Mapping[str, str], now: datetime) -> Q:
    days = number_in(given.get("days", ""))
    if not days or days > OLDEST:
        raise Http404("Enter a number of days.")
    return Q(at__lt=now - timedelta(days=days))


# By the forms' values of `act`.
TIMELINE_FILTERS: Mapping[str, Callable[[Timeline, QueryDict, datetime], Q]] = {
    "read": lambda _, given, __: Q(place__in=keys_in(given.getlist("place"))),
    "here": lambda timeline, given, _: all_between(timeline, _place(given, "top"), _place(given, "place")),
    "all": lambda timeline, given, _: all_below(timeline, _place(given, "top")),
    "older": _older,
}


def _asked(request: HttpRequest, *, oldest_first: bool = False) -> PageRequest:
    text = request.GET.get("after", "")
    try:
        return PageRequest(from_=Key.read(text) if text else None, oldest_first=oldest_first)
    except BadCursor as error:
        raise Http404("Page not found.") from error


def marking_of(request: HttpRequest, reader: Reader) -> dict[str, str] | None:
    """Return the marking that the page shows, while it can be undone."""
    name = request.GET.get("marked", "")
    marking = Marking.objects.filter(reader=reader, name=name).first() if name else None
    return _told(marking) if marking else None


def _told(marking: Marking) -> dict[str, str]:
    sentence = ngettext("%(number)s post marked as read.", "%(number)s posts marked as read.", marking.count)
    return {"name": marking.name, "says": sentence % {"number": marking.count}}


def _with_marking(address: str, marking: Marking | None) -> str:
    parts = urlsplit(address)
    query = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key != "marked"]
    if marking is not None:
        query.append(("marked", marking.name))
    return parts._replace(query=urlencode(query)).geturl()


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def deck(request: HttpRequest, reader: Reader) -> HttpResponse:
    if request.method == "POST":
        choose_columns(reader=reader, uids=request.POST.getlist("channel"))
        return HttpResponseRedirect(reverse("reader:deck"))
    unread_only = "unread" in request.GET
    around = surroundings(reader)
    chosen = {channel.uid: channel for channel in reader.channels.filter(in_deck=True)}
    columns = []
    for line in [line for line in around["channels"] if line.uid in chosen][:MOST_COLUMNS]:
        timeline = Timeline(reader, chosen[line.uid])
        page = page_of(timeline, PageRequest(limit=POSTS_IN_A_COLUMN), unread_only=unread_only)
        if line.is_notifications and not page.places:
            # Notifications are empty on most days.
            continue
        posts = shown_places(reader, page.places, page.unread)
        columns.append(
            {
                "line": line,
                "posts": posts,
                "has_unread": any(post.is_unread for post in posts),
                "top": posts[0].place if posts else 0,
                "older": page.paging.after,
            }
        )
    context = {
        **around,
        "section": "deck",
        "columns": columns,
        "choices": [(line, line.uid in chosen) for line in around["channels"]],
        "most": MOST_COLUMNS,
        "unread_only": unread_only,
        "marking": marking_of(request, reader),
    }
    return render(request, "reader/deck.html", context)
