"""Decorators and context of all pages of the reader."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control

from common.clock import utcnow
from reader.channels.channels import NoSuchChannel
from reader.indieauth.discovery import is_trial
from reader.micropub.compositions import NoSuchComposition
from reader.models import Channel, Reader
from reader.people.readers import may_read, note_seen
from reader.rules.order import LARGEST_KEY
from reader.timelines.marks import NoSuchPost
from reader.timelines.pages import unread_counts
from reader.timelines.stars import NoSuchEntry
from reader.timelines.undo import NothingToUndo

View = Callable[..., HttpResponseBase]

NOT_FOUND = (NoSuchChannel, NoSuchComposition, NoSuchEntry, NoSuchPost, NothingToUndo)
# A worker does the rest.
WAITED_FOR = timedelta(seconds=2)
# Posts are untrusted: the page loads and runs only what this site serves.
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
    """`count` is None if the channel shows none."""

    uid: str
    name: str
    is_notifications: bool
    count: int | None
    has_unread: bool


def for_readers(view: View) -> View:
    """Give the view its reader; a user who is none chooses a name first."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        reader = Reader.objects.select_related("user").filter(user=request.user.pk).first()
        if reader is None:
            return HttpResponseRedirect(reverse("reader:begin"))
        if not may_read(reader):
            return render(request, "reader/not_yet.html", status=403)
        note_seen(reader=reader, now=utcnow())
        try:
            return view(request, reader, *args, **kwargs)
        except NOT_FOUND as error:
            raise Http404(str(error)) from error

    return for_users(wrapped)


def for_users(view: View) -> View:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            back = request.get_full_path() if request.method in ("GET", "HEAD") else reverse("reader:all")
            return redirect_to_login(back)
        return view(request, *args, **kwargs)

    return reading_page(wrapped)


def confirmed(
    is_needed: Callable[[QueryDict], bool], *, before_page: bool = False, app: str = ""
) -> Callable[[View], View]:
    """Ask for the password again before a POST that gives a new way to sign in, or before its page."""

    def asks(request: HttpRequest) -> bool:
        if not (before_page or request.method == "POST") or not is_needed(request.POST):
            return False
        if not before_page:
            # allauth would resume a POST to an address with a query as a GET.
            request.GET, request.META["QUERY_STRING"] = request.GET, ""
        return True

    guarded: Callable[[View], View] = reauthentication_required(enabled=asks, app=app)
    return guarded


def is_connecting(given: QueryDict) -> bool:
    return given.get("act") != "disconnect"


def reading_page(view: View) -> View:
    @wraps(view)
    @cache_control(private=True, no_store=True)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.setdefault("Content-Security-Policy", POLICY)
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return wrapped


def policy_with_form_to(*origins: str) -> str:
    """Browsers check redirects after a form, too."""
    return POLICY.replace("form-action 'self'", " ".join(("form-action 'self'", *origins)))


def policy_with_media() -> str:
    """Allow any server, since audio files redirect. None load before somebody presses play."""
    return f"{POLICY}; media-src https: http:"


def policy_to_own_sites() -> str:
    """Allow forms to redirect to a site that is not known before it is typed."""
    return policy_with_form_to("https:", *(("http:",) if is_trial() else ()))


def surroundings(reader: Reader, current: Channel | None = None) -> dict[str, Any]:
    channels = list(reader.channels.order_by("-is_notifications", "position", "pk"))
    counts = unread_counts([channel.pk for channel in channels])
    lines = [channel_line(channel, counts.get(channel.pk, 0)) for channel in channels]
    return {
        "reader": reader,
        "channels": lines,
        "choices": [line for line in lines if not line.is_notifications],
        "current": next((line for line in lines if current and line.uid == current.uid), None),
        "all_unread": sum(line.count or 0 for line in lines),
    }


def counts_of(reader: Reader) -> dict[str, Any]:
    around = surroundings(reader)
    counts = {line.uid: {"count": line.count, "has": line.has_unread} for line in around["channels"]}
    return {"channels": counts, "all": around["all_unread"]}


def channel_line(channel: Channel, unread: int) -> ChannelLine:
    return ChannelLine(
        uid=channel.uid,
        name=gettext("Notifications") if channel.is_notifications else channel.name,
        is_notifications=channel.is_notifications,
        count=unread if channel.unread_mode == Channel.UnreadMode.COUNT else None,
        has_unread=bool(unread) and channel.unread_mode != Channel.UnreadMode.OFF,
    )


def keys_in(texts: Iterable[str]) -> list[int]:
    """Return keys in form values; others are ignored."""
    numbers = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) <= 19]
    return [number for number in numbers if number <= LARGEST_KEY]


def feed_in(given: Mapping[str, str]) -> int | None:
    """Return the key of the feed that a form is limited to, if any."""
    return next(iter(keys_in([given.get("feed", "")])), None)


def back_to(request: HttpRequest, otherwise: str) -> str:
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, None) and urlsplit(back).path.startswith("/reader/")
    return back if is_ours else otherwise
