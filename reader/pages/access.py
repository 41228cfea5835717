"""Access to the reader's pages, and what all of them share."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.generic import FormView, TemplateView

from common.clock import utcnow
from common.refused import Refused, TranslatedRefusal
from common.text import natural_order
from feeds.models import Feed
from reader.channels.channels import NoSuchChannel
from reader.inbox.addresses import is_offered
from reader.indieauth.discovery import is_trial
from reader.media.icons import feed_icon
from reader.micropub.compositions import NoSuchComposition
from reader.models import Channel, Follow, Reader
from reader.people.readers import may_read, note_seen
from reader.rules.order import number_in
from reader.timelines.marks import NoSuchPost, NothingToUndo
from reader.timelines.pages import MOST_COUNTED, SHOWN_OF_FEED, channels_with_unread, newest_unread_by_feed
from reader.timelines.stars import NoSuchEntry

View = Callable[..., HttpResponseBase]

# The side column opens all channels of a reader who follows no more.
FEW_FEEDS = 20
HEALTH_OF_FEED = ("status", "failures", "first_polled_at", "newest_at")
NOT_FOUND = (NoSuchChannel, NoSuchComposition, NoSuchEntry, NoSuchPost, NothingToUndo)
# A worker does the rest.
WAITED_FOR = timedelta(seconds=2)
# Posts are untrusted: the page loads and runs only what this site serves.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class FeedLine:
    """Feed in a channel. `badge` is its unread count as the channel shows it; `icon` is "" for none."""

    key: str
    feed: Feed
    name: str
    icon: str
    badge: str


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """`count` is 0 and `badge` no number if the channel shows none."""

    uid: str
    name: str
    is_notifications: bool
    count: int
    badge: str
    feeds: Sequence[FeedLine] = ()


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


def policy_to_own_sites() -> str:
    """Allow forms to redirect to a site that is not known before it is typed."""
    return policy_with_form_to("https:", *(("http:",) if is_trial() else ()))


def surroundings(reader: Reader, current: Channel | None = None) -> dict[str, Any]:
    channels = channels_with_unread(reader)
    by_feed = newest_unread_by_feed(reader)
    more = "+" if sum(count for _, count in channels) > MOST_COUNTED else ""
    shown = (f"feed__{name}" for name in (*SHOWN_OF_FEED, *HEALTH_OF_FEED))
    follows = Follow.objects.of(reader).select_related("feed__icon")
    rows = follows.only("channel", "name", "feed__icon__url", *shown)
    by_key = {channel.pk: channel for channel, _ in channels}
    feeds: dict[int, list[FeedLine]] = defaultdict(list)
    for follow in sorted(rows, key=lambda follow: natural_order(follow.title)):
        # A channel may be new since.
        if channel := by_key.get(follow.channel_id):
            unread = by_feed.get((channel.pk, follow.feed_id), 0)
            feeds[channel.pk].append(
                FeedLine(
                    key=f"{channel.uid}/{follow.feed_id}",
                    feed=follow.feed,
                    name=follow.title,
                    icon=feed_icon(follow.feed),
                    badge=_badge(channel, unread, more),
                )
            )
    lines = [channel_line(channel, count, feeds[channel.pk]) for channel, count in channels]
    here = next((line for line in lines if current and line.uid == current.uid), None)
    return {
        "reader": reader,
        "channels": lines,
        "choices": [line for line in lines if not line.is_notifications],
        "current": here,
        "all_unread": sum(line.count for line in lines),
        "follows_any": any(line.feeds for line in ([here] if here else lines)),
        "gets_mail": is_offered(),
        "follows_few": sum(len(line.feeds) for line in lines) <= FEW_FEEDS,
    }


def counts_of(reader: Reader) -> dict[str, str]:
    """Return what elements with `data-count` show."""
    around = surroundings(reader)
    counts = {"": str(around["all_unread"] or "")}
    for line in around["channels"]:
        counts |= {line.uid: line.badge, **{feed.key: feed.badge for feed in line.feeds}}
    return counts


def channel_line(channel: Channel, unread: int = 0, feeds: Sequence[FeedLine] = ()) -> ChannelLine:
    return ChannelLine(
        uid=channel.uid,
        name=gettext("Notifications") if channel.is_notifications else channel.name,
        is_notifications=channel.is_notifications,
        count=unread if channel.unread_mode == Channel.UnreadMode.COUNT else 0,
        badge=_badge(channel, unread),
        feeds=feeds,
    )


def _badge(channel: Channel, unread: int, more: str = "") -> str:
    if not unread or channel.unread_mode == Channel.UnreadMode.OFF:
        return ""
    return "•" if channel.unread_mode == Channel.UnreadMode.FLAG else f"{unread}{more}"


class ReaderPage(TemplateView):
    """Page of one reader. A refusal shows it again, with the reason."""

    http_method_names: Sequence[str] = ("get", "head", "post")
    section = ""
    # Shown before reasons that are in English only.
    failure = ""
    reader: Reader

    @method_decorator(for_readers)
    def dispatch(self, request: HttpRequest, reader: Reader, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.reader = reader
        try:
            return super().dispatch(request, *args, **kwargs)
        except NOT_FOUND:
            raise
        except (Refused, ValidationError) as error:
            return self.refused(error)

    @cached_property
    def channel(self) -> Channel | None:
        """Return the channel that the page is about, if any."""
        return None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        around = surroundings(self.reader, self.channel)
        return super().get_context_data(**{**around, "section": self.section, **kwargs})

    def refused(self, error: Refused | ValidationError) -> HttpResponse:
        reason = str(error) if isinstance(error, Refused) else " ".join(error.messages)
        if self.failure and not isinstance(error, TranslatedRefusal):
            return self.refuse(gettext(self.failure), details=reason)
        return self.refuse(reason, field=getattr(error, "field", ""))

    def refuse(self, problem: str, *, status: int = HTTPStatus.BAD_REQUEST, **context: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(problem=problem, **context), status=status)

    def refuse_attempt(self) -> HttpResponse:
        problem = gettext("Too many attempts. Wait a minute.")
        return self.refuse(problem, status=HTTPStatus.TOO_MANY_REQUESTS)


class ReaderFormPage(ReaderPage, FormView):  # type: ignore[type-arg]
    """Page of one form. It is shown again with its first error."""

    def form_invalid(self, form: Any) -> HttpResponse:
        problem = next(message for messages in form.errors.values() for message in messages)
        return self.refuse(problem, form=form)


def keys_in(texts: Iterable[str]) -> list[int]:
    """Return keys in form values; others are ignored."""
    return [number for text in texts if (number := number_in(text)) is not None]


def back_to(request: HttpRequest, otherwise: str) -> str:
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, None) and urlsplit(back).path.startswith("/reader/")
    return back if is_ours else otherwise
