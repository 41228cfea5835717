from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from common.clock import utcnow
from common.refused import Refused
from reader.channels.channels import (
    LONGEST_CHANNEL_NAME,
    add_channel,
    alter_channel,
    channel_of,
    drop_channel,
    order_channels,
)
from reader.channels.filters import authors_of, mute, unmute
from reader.indieauth.discovery import profile_of
from reader.models import Channel, Reader
from reader.pages.access import ReaderFormPage, back_to, channel_line, for_readers, surroundings
from reader.pages.forms import LONGEST_KEPT, ChannelForm, NewChannelForm


class ChannelFormPage(ReaderFormPage):
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(longest=LONGEST_CHANNEL_NAME, **kwargs)


class Channels(ChannelFormPage):
    """A POST adds one, or (`act`) moves one."""

    template_name = "reader/channels.html"
    section = "channels"
    form_class = NewChannelForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        act = request.POST.get("act")
        if act in ("up", "down"):
            _move(self.reader, request.POST.get("channel", ""), by=1 if act == "down" else -1)
            return redirect("reader:channels")
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: NewChannelForm) -> HttpResponse:
        channel = add_channel(reader=self.reader, name=form.cleaned_data["name"])
        return redirect("reader:channel", channel.uid)


class ChannelSettings(ChannelFormPage):
    template_name = "reader/channel_settings.html"
    form_class = ChannelForm

    @cached_property
    def channel(self) -> Channel:
        return channel_of(self.reader, self.kwargs["uid"])

    def get_initial(self) -> dict[str, Any]:
        return {
            "name": self.channel.name,
            "keep": self.channel.keep_days,
            "unread": self.channel.unread_mode,
            "layout": self.channel.layout,
            "published": self.channel.is_published,
        }

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        follows = self.channel.follows.count()
        context = {"follows": follows, "filters": self.channel.filters, "me": profile_of(self.reader)}
        return super().get_context_data(**context, longest_kept=LONGEST_KEPT, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.POST.get("act") != "delete":
            return super().post(request, *args, **kwargs)
        if "sure" not in request.POST:
            return self.refuse(gettext("Tick the box first. This can’t be undone."))
        drop_channel(channel=self.channel, now=utcnow())
        return redirect("reader:channels")

    def form_valid(self, form: ChannelForm) -> HttpResponse:
        channel, data = self.channel, form.cleaned_data
        changes = {
            "unread_mode": data["unread"],
            "layout": data["layout"] or channel.layout,
            "keep_days": data["keep"],
            "is_published": data["published"] and not channel.is_notifications,
        }
        if not channel.is_notifications and data["name"] != channel.name:
            changes["name"] = data["name"]
        alter_channel(channel=channel, **changes)
        return redirect("reader:channel", channel.uid)


@for_readers
@require_safe
def muted_people(request: HttpRequest, reader: Reader) -> HttpResponse:
    rows = reader.mutes.select_related("channel").order_by("is_block", "-added_at", "-pk")
    authors = authors_of(reader, [row.key for row in rows])
    listed = [
        (row, authors.get(row.key, {}).get("name", ""), channel_line(row.channel) if row.channel else None)
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
