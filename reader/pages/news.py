from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from django.contrib.auth import get_user
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from reader.channels.channels import channel_of
from reader.models import Composition, Reader
from reader.pages.access import counts_of, feed_in, for_readers
from reader.pages.posts import STATE_WORDS, WRITTEN_KIND_WORDS, web_address
from reader.people.readers import may_read
from reader.rules.micropub import Said, fitting
from reader.rules.order import BadCursor, Key
from reader.streams.stream import STREAM_HEADERS, TRIES_AGAIN_AFTER, Stream, TooManyStreams
from reader.timelines.pages import Timeline, newer_than

LISTED = 20
MOST_NEW = 1_000


@dataclass(frozen=True, slots=True)
class NewsLine:
    row: Composition
    said: Said

    @property
    def kind(self) -> str:
        return str(WRITTEN_KIND_WORDS[self.said.kind])

    @property
    def state(self) -> str:
        return str(STATE_WORDS[Composition.State(self.row.state)])

    @property
    def words(self) -> str:
        said = fitting(self.said)
        return said.name or said.content or said.url

    @property
    def location(self) -> str:
        return web_address(self.row.location)


def lines_of(reader: Reader) -> Sequence[NewsLine]:
    rows = reader.compositions.order_by("-made_at", "-pk")[:LISTED]
    return [NewsLine(row, Said.from_json(row.said)) for row in rows]


@for_readers
@require_GET
def news(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Return the unread counts, and how many posts are newer than the page."""
    uid, since = request.GET.get("channel", ""), request.GET.get("since", "")
    timeline = Timeline(reader, channel_of(reader, uid) if uid else None, feed_in(request.GET))
    try:
        newer = timeline.seen().filter(newer_than(Key.read(since))) if since else timeline.seen().none()
    except BadCursor as error:
        raise Http404("Page not found.") from error
    new = newer.order_by("-at", "-pk")[:MOST_NEW].count()
    words = ngettext("%(number)s new post", "%(number)s new posts", new) % {"number": new} if new else ""
    return JsonResponse({"counts": counts_of(reader), "new": new, "words": words})


@for_readers
@require_GET
def events(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Stream events without content; the script then asks `news`."""
    try:
        is_allowed = partial(_is_signed_in, request, reader)
        body = Stream(request, reader, say=lambda _: {}, is_allowed=is_allowed)
    except TooManyStreams as error:
        return HttpResponse(
            f"{error}\n",
            content_type="text/plain; charset=utf-8",
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            headers={"Retry-After": str(TRIES_AGAIN_AFTER)},
        )
    return StreamingHttpResponse(body, headers=STREAM_HEADERS)


def _is_signed_in(request: HttpRequest, reader: Reader) -> bool:
    """Users may sign out elsewhere."""
    request.session = type(request.session)(request.session.session_key)
    user = get_user(request)
    current = Reader.objects.select_related("user").filter(pk=reader.pk, user=user.pk).first()
    return current is not None and may_read(current)
