"""Who sees the pages of those who read here, and what every one of these pages has: its headers, its list of
channels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control

from reader.channels.channels import NoSuchChannel
from reader.models import Channel, Reader
from reader.people.readers import OFF, may_read
from reader.timelines.pages import unread_counts
from reader.timelines.stars import NoSuchEntry

View = Callable[..., HttpResponse]

# How long a form works off what may be long before its page comes, and a worker goes on.
WAITED_FOR = timedelta(seconds=2)
# Posts come from anywhere: nothing runs and nothing loads that is not ours.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A channel as the list beside a timeline has it. `count`: unread posts, None where it does not say."""

    uid: str
    name: str
    is_notifications: bool
    count: int | None
    has_unread: bool


def for_readers(view: View) -> View:
    """A page for a reader who is signed in; the view gets them after the request."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        reader = Reader.objects.select_related("user").filter(user=request.user.pk).first()
        if reader is None:
            return HttpResponseRedirect(reverse("reader:begin"))
        if not may_read(reader):
            return render(request, "reader/not_yet.html", status=403)
        try:
            return view(request, reader, *args, **kwargs)
        except (NoSuchChannel, NoSuchEntry) as error:
            raise Http404(str(error)) from error

    return for_users(wrapped)


def for_users(view: View) -> View:
    """A page for whoever is signed in, under the policy of these pages."""

    @wraps(view)
    @cache_control(private=True, no_store=True)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if settings.READER == OFF:
            raise Http404("Reading is switched off.")
        if not request.user.is_authenticated:
            # (What was a form's address shows nothing when it is opened afterwards.)
            back = request.get_full_path() if request.method in ("GET", "HEAD") else reverse("reader:all")
            return redirect_to_login(back, settings.LOGIN_URL)
        response = view(request, *args, **kwargs)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return wrapped


def surroundings(reader: Reader, current: Channel | None = None) -> dict[str, Any]:
    """What stands around a page: the channels, with what is unread in them."""
    channels = list(reader.channels.order_by("-is_notifications", "position", "pk"))
    counts = unread_counts([channel.pk for channel in channels])
    lines = [channel_line(channel, counts.get(channel.pk, 0)) for channel in channels]
    return {
        "reader": reader,
        "channels": lines,
        "current": next((line for line in lines if current and line.uid == current.uid), None),
        "all_unread": sum(line.count or 0 for line in lines),
    }


def channel_line(channel: Channel, unread: int) -> ChannelLine:
    return ChannelLine(
        uid=channel.uid,
        name=gettext("Notifications") if channel.is_notifications else channel.name,
        is_notifications=channel.is_notifications,
        count=unread if channel.unread_mode == Channel.UnreadMode.COUNT else None,
        has_unread=bool(unread) and channel.unread_mode != Channel.UnreadMode.OFF,
    )


def back_to(request: HttpRequest, otherwise: str) -> str:
    """Where a form says that it stands, if that is one of these pages."""
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, None) and urlsplit(back).path.startswith("/reader/")
    return back if is_ours else otherwise
