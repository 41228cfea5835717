from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.clock import utcnow
from common.refused import Refused
from reader.channels.channels import (
    LONGEST_CHANNEL_NAME,
    DuplicateChannel,
    add_channel,
    alter_channel,
    channel_of,
    drop_channel,
    order_channels,
)
from reader.channels.filters import authors_of, mute, unmute
from reader.indieauth.discovery import profile_of
from reader.models import Channel, Reader
from reader.pages.access import back_to, channel_line, for_readers, surroundings

LONGEST_KEPT = 3_650


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def channels(request: HttpRequest, reader: Reader) -> HttpResponse:
    """A POST adds one, or (`act`) moves one."""
    problem = ""
    if request.method == "POST":
        if request.POST.get("act") in ("up", "down"):
            _move(reader, request.POST.get("channel", ""), by=1 if request.POST["act"] == "down" else -1)
            return HttpResponseRedirect(reverse("reader:channels"))
        try:
            channel = add_channel(reader=reader, name=request.POST.get("name", ""))
            return HttpResponseRedirect(reverse("reader:channel", args=[channel.uid]))
        except Refused as error:
            problem = _problem(error)
    context = {
        **surroundings(reader),
        "section": "channels",
        "problem": problem,
        "name": request.POST.get("name", ""),
        "longest": LONGEST_CHANNEL_NAME,
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return render(request, "reader/channels.html", context, status=status)


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def channel_settings(request: HttpRequest, reader: Reader, uid: str) -> HttpResponse:
    channel = channel_of(reader, uid)
    problem, typed = (
        "",
        {
            "name": channel.name,
            "keep": str(channel.keep_days or ""),
            "unread": channel.unread_mode,
            "layout": channel.layout,
            "published": "on" if channel.is_published else "",
        },
    )
    if request.method == "POST":
        typed = {name: request.POST.get(name, "") for name in typed}
        try:
            if request.POST.get("act") == "delete":
                return _delete(request, channel)
            problem = _save(channel, **{**typed, "layout": typed["layout"] or channel.layout})
        except Refused as error:
            problem = _problem(error)
        if not problem:
            return HttpResponseRedirect(reverse("reader:channel", args=[channel.uid]))
    context = {
        **surroundings(reader, channel_of(reader, uid)),
        "modes": {
            Channel.UnreadMode.COUNT: gettext("number of unread posts"),
            Channel.UnreadMode.FLAG: gettext("whether there are unread posts"),
            Channel.UnreadMode.OFF: gettext("nothing"),
        },
        "typed": typed,
        "me": profile_of(reader),
        "problem": problem,
        "longest": LONGEST_CHANNEL_NAME,
        "longest_kept": LONGEST_KEPT,
        "follows": channel.follows.count(),
        "filters": channel.filters,
        "layouts": {
            Channel.Layout.LIST: gettext("list"),
            Channel.Layout.CARDS: gettext("as cards"),
            Channel.Layout.GALLERY: gettext("pictures first"),
        },
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return render(request, "reader/channel_settings.html", context, status=status)


@for_readers
@require_safe
def muted_people(request: HttpRequest, reader: Reader) -> HttpResponse:
    rows = reader.mutes.select_related("channel").order_by("is_block", "-added_at", "-pk")
    authors = authors_of(reader, [row.key for row in rows])
    listed = [
        (row, authors.get(row.key, {}).get("name", ""), channel_line(row.channel, 0) if row.channel else None)
        for row in rows
    ]
    return render(request, "reader/muted.html", {**surroundings(reader), "section": "muted", "mutes": listed})


@for_readers
@require_POST
def change_mute(request: HttpRequest, reader: Reader) -> HttpResponse:
    channel = channel_of(reader, request.POST["channel"]) if request.POST.get("channel") else None
    act, url = request.POST.get("act", ""), request.POST.get("url", "")
    try:
        if act in ("mute", "block"):
            mute(reader=reader, channel=channel, url=url, now=utcnow(), is_block=act == "block")
        elif act in ("unmute", "unblock"):
            unmute(reader=reader, channel=channel, url=url, is_block=act == "unblock")
        else:
            raise Http404("Mark not found.")
    except Refused as error:
        raise Http404(str(error)) from error
    return HttpResponseRedirect(back_to(request, reverse("reader:muted")))


def _move(reader: Reader, uid: str, *, by: int) -> None:
    moved = channel_of(reader, uid)
    rows = reader.channels.filter(is_notifications=False).order_by("position", "pk")
    uids = list(rows.values_list("uid", flat=True))
    if moved.uid in uids:
        place = uids.index(moved.uid)
        uids.insert(min(max(place + by, 0), len(uids) - 1), uids.pop(place))
        order_channels(reader=reader, uids=uids)


def _save(channel: Channel, *, name: str, keep: str, unread: str, layout: str, published: str) -> str:
    """Return an error, or "" after saving. Raises Refused."""
    is_days = keep.isascii() and keep.isdigit() and len(keep) <= 4 and 1 <= int(keep) <= LONGEST_KEPT
    if keep and not is_days:
        return gettext("Enter a whole number of days, at most %(days)s.") % {"days": LONGEST_KEPT}
    if unread not in Channel.UnreadMode.values or layout not in Channel.Layout.values:
        return gettext("Choose one of the options on the page.")
    changes = {
        "unread_mode": unread,
        "layout": layout,
        "keep_days": int(keep) if keep else None,
        "is_published": bool(published) and not channel.is_notifications,
    }
    if not channel.is_notifications and name != channel.name:
        changes["name"] = name
    alter_channel(channel=channel, **changes)
    return ""


def _delete(request: HttpRequest, channel: Channel) -> HttpResponse:
    if "sure" not in request.POST:
        raise Refused(gettext("Tick the box first. This can’t be undone."), "sure")
    drop_channel(channel=channel, now=utcnow())
    return HttpResponseRedirect(reverse("reader:channels"))


def _problem(error: Refused) -> str:
    if isinstance(error, DuplicateChannel):
        return gettext("You already have a channel with that name.")
    if error.field == "name":
        return gettext("Enter a name of at most %(most)s characters.") % {"most": LONGEST_CHANNEL_NAME}
    return str(error)
