from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.http import urlencode
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_POST, require_safe

from common.body_limits import MAX_FORM_BYTES, takes_body
from common.clock import utcnow
from common.passes import TimeBudget
from common.ports.ways import Way
from common.text import one_line
from feeds.adding.discover import discover
from feeds.addresses import MAX_FEED_URL
from feeds.parsing.opml import MAX_BYTES
from feeds.polling.poll import request_poll
from reader.channels.channels import add_channel, channel_of
from reader.channels.follows import (
    change_address,
    follow_address,
    may_look,
    move_follow,
    rename_follow,
    shared_feed_at,
    unfollow,
)
from reader.channels.opml import export_follows, follow_listed, keep_list, report_of, stop_list
from reader.inbox.take import refuse
from reader.inbox.unsubscribe import unsubscribe
from reader.models import Channel, Follow, FollowLine, FollowList, MailSource, Reader, TimelineEntry
from reader.models.channel import LONGEST_FOLLOW_NAME
from reader.models.entry import TimelineEntryQuerySet
from reader.pages.access import WAITED_FOR, ReaderFormPage, ReaderPage, for_readers, surroundings
from reader.pages.forms import FollowForm
from reader.pages.timelines import shown_timeline
from reader.rules.order import LARGEST_KEY
from reader.timelines.pages import Timeline

# Its server is polled once, however many readers ask.
READ_AGAIN_AFTER = timedelta(minutes=1)
LINES_SHOWN = 500
REFRESHED_AFTER_SECONDS = 3
# Rank of the way to subscribe.
AFTER_RSS = 20


class FollowPage(ReaderFormPage):
    """A POST discovers feeds, or (`act`) follows one."""

    template_name = "reader/follow.html"
    section = "follow"
    form_class = FollowForm
    failure = gettext_noop("This feed couldn’t be followed.")

    def get_initial(self) -> dict[str, Any]:
        return self.request.GET.dict()

    def form_valid(self, form: FollowForm) -> HttpResponse:
        url = form.cleaned_data["url"]
        if self.request.POST.get("act") == "follow":
            return self.follow(url, form.cleaned_data["channel"], form.cleaned_data["new_channel"])
        if not may_look(self.reader):
            return self.refuse_attempt()
        try:
            discovery = discover(url, now=utcnow())
        except ValidationError:
            return self.refuse(gettext("This isn’t a web address. Use one like https://example.org."))
        followed = set(Follow.objects.of(self.reader).values_list("feed__url", flat=True))
        context = self.get_context_data(
            candidates=[(candidate, candidate.url in followed) for candidate in discovery.candidates],
            problem="" if discovery.candidates else gettext("No feed was found at this address."),
            details=discovery.problem,
        )
        return self.render_to_response(context)

    def follow(self, url: str, uid: str, new_channel: str) -> HttpResponse:
        if shared_feed_at(url) is None and not may_look(self.reader):
            return self.refuse_attempt()
        if new_channel:
            channel = add_channel(reader=self.reader, name=new_channel)
        else:
            channel = channel_of(self.reader, uid)
        follow_address(channel=channel, url=url)
        return redirect("reader:channel", channel.uid)


def reader_way(newsletter: Any) -> Iterator[Way]:
    """Offer on a newsletter's page to follow its feed. Visitors are asked to sign in first."""
    feed = f"{settings.SITE_URL}{reverse('delivery:feed', args=[newsletter.name])}"
    url = f"{reverse('reader:follow')}?{urlencode({'url': feed})}"
    sentence = gettext("If you read feeds on this site.")
    yield Way(icon="reader", title=gettext("Add to your reader"), sentence=sentence, url=url, rank=AFTER_RSS)


@for_readers
@require_safe
def feeds(request: HttpRequest, reader: Reader) -> HttpResponse:
    left = request.GET.get("left", "")
    context = {
        **surroundings(reader),
        "section": "feeds",
        "left": left,
        "left_channel": reader.channels.filter(uid=request.GET.get("from", "")).first() if left else None,
    }
    return render(request, "reader/feeds.html", context)


class FeedPage(ReaderPage):
    """A feed and its posts. A POST polls, renames, moves it or changes its address.

    The page outlives the follow as long as there are posts.
    """

    template_name = "reader/feed.html"
    failure = gettext_noop("The address couldn’t be changed.")

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        act, given = request.POST.get("act", ""), request.POST
        follow = _follow_in(self.reader, pk, request)
        source = MailSource.objects.filter(feed=pk, reader=self.reader).first()
        if act in ("read", "address", "leave") and not may_look(self.reader):
            return self.refuse_attempt()
        match act:
            case "read":
                last = follow.feed.last_polled_at
                if last is None or utcnow() - last >= READ_AGAIN_AFTER:
                    request_poll(feed_ids=[pk], now=utcnow())
                return HttpResponseRedirect(f"{request.path}?reading")
            case "address":
                url = one_line(given.get("url", ""))[:MAX_FEED_URL]
                pk = change_address(reader=self.reader, feed=follow.feed, url=url).pk
            case "leave":
                if source is not None:
                    unsubscribe(source=source, now=utcnow())
            case "move":
                to = channel_of(self.reader, given.get("to", ""))
                move_follow(follow=follow, to=to, now=utcnow(), with_posts=True)
            case _:
                # The feed of a sender has no title.
                usual = source.title if source else ""
                rename_follow(follow=follow, name=given.get("name", "").strip() or usual)
        return redirect("reader:feed", pk)

    @cached_property
    def places(self) -> TimelineEntryQuerySet:
        return TimelineEntry.objects.filter(reader=self.reader, feed=min(self.kwargs["pk"], LARGEST_KEY))

    @cached_property
    def follows(self) -> list[Follow]:
        return _follows_of(self.reader, self.kwargs["pk"])

    @cached_property
    def rows(self) -> Sequence[Any]:
        """Return the follows, or the newest post if there are none."""
        newest = self.places.seen().select_related("channel", "feed").order_by("-pk")
        rows: Sequence[Any] = self.follows or list(newest[:1])
        if not rows:
            raise Http404("You don’t follow this feed.")
        return rows

    @cached_property
    def channel(self) -> Channel:
        channels: list[Channel] = [row.channel for row in self.rows]
        chosen = self.request.GET.get("channel", "")
        return next((channel for channel in channels if channel.uid == chosen), channels[0])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        feed, channel, hidden = self.rows[0].feed, self.channel, TimelineEntry.Hidden
        names = (follow.title for follow in self.follows if follow.channel == channel)
        context = {
            **shown_timeline(self.request, Timeline(self.reader, channel, feed.pk)),
            "layout": channel.layout,
            "only_feed": feed.pk,
            "in_channel": channel.uid if len(self.rows) > 1 else "",
            "feed": feed,
            "title": next(names, feed.title or feed.host),
            "longest": LONGEST_FOLLOW_NAME,
            "longest_address": MAX_FEED_URL,
            "follows": self.follows,
            "muted": self.places.filter(hidden=hidden.MUTED).count(),
            "hidden": self.places.filter(hidden=hidden.FILTERED).count(),
            "is_reading": "reading" in self.request.GET,
            "mail": MailSource.objects.filter(feed=feed, reader=self.reader).first(),
            "now": utcnow(),
        }
        return super().get_context_data(**{**context, **kwargs})


@for_readers
@require_POST
def stop_following(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    """Unfollow in one channel; the list offers to undo it."""
    followed = _follow_in(reader, pk, request)
    unfollow(channel=followed.channel, feed=followed.feed, now=utcnow())
    if source := MailSource.objects.filter(feed=pk, reader=reader).first():
        refuse(source=source)
        return redirect("reader:mail")
    query = urlencode({"left": followed.feed.url, "from": followed.channel.uid})
    return HttpResponseRedirect(f"{reverse('reader:feeds')}?{query}")


def _follows_of(reader: Reader, pk: int) -> list[Follow]:
    rows = Follow.objects.of(reader).filter(feed=min(pk, LARGEST_KEY))
    return list(rows.select_related("feed__icon", "channel").order_by("pk"))


def _follow_in(reader: Reader, pk: int, request: HttpRequest) -> Follow:
    for follow in _follows_of(reader, pk):
        if follow.channel.uid == request.POST.get("channel"):
            return follow
    raise Http404("This feed isn’t followed in that channel.")


@method_decorator(takes_body(MAX_BYTES + MAX_FORM_BYTES, files=True, for_users=True), name="dispatch")
class ImportPage(ReaderPage):
    """The last import. A POST uploads a file, or (`act`) stops the import."""

    template_name = "reader/opml.html"
    section = "feeds"
    failure = gettext_noop("This file couldn’t be imported.")

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.POST.get("act") == "stop":
            stop_list(reader=self.reader, now=utcnow())
            return redirect("reader:opml")
        uid, file = request.POST.get("channel", ""), request.FILES.get("file")
        channel = channel_of(self.reader, uid) if uid else None
        if not may_look(self.reader):
            return self.refuse_attempt()
        if file is None:
            return self.refuse(gettext("Choose a file first."))
        body = file.read(MAX_BYTES + 1)
        kept = keep_list(reader=self.reader, body=body, channel=channel, now=utcnow())
        follow_listed(kept, left=TimeBudget(WAITED_FOR))
        return redirect("reader:opml")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        kept = FollowList.objects.filter(reader=self.reader).first()
        return super().get_context_data(list=kept, **(_told(kept) if kept else {}), **kwargs)

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        response = super().render_to_response(context, **kwargs)
        if context["list"] and context["list"].ended_at is None and "problem" not in context:
            response.headers["Refresh"] = str(REFRESHED_AFTER_SECONDS)
        return response


@for_readers
@require_safe
def export(request: HttpRequest, reader: Reader) -> HttpResponse:
    lines = export_follows(reader, now=utcnow())
    name = f'attachment; filename="{reader.slug}.opml"'
    return HttpResponse("".join(lines), content_type="text/x-opml", headers={"Content-Disposition": name})


def _told(kept: FollowList) -> dict[str, object]:
    report, outcomes = report_of(kept), FollowLine.Outcome
    listed = kept.lines.filter(Q(post__isnull=True) | Q(outcome=outcomes.REFUSED))
    lines = {
        outcome.value: list(listed.filter(outcome=outcome)[:LINES_SHOWN])
        for outcome in (outcomes.REFUSED, outcomes.FOLLOWED, outcomes.KNOWN)
    }
    return {"report": report, "done": report.total - report.waiting, "lines": lines}
