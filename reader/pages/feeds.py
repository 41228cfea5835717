"""Following: finding a feed, looking into it, choosing a channel; and how the feeds do that one follows."""

from http import HTTPStatus

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.clock import utcnow
from common.rates import is_within
from common.refused import Refused
from common.text import one_line
from feeds.adding.discover import Discovery, discover
from feeds.addresses import MAX_FEED_URL
from reader.channels.channels import NoSuchChannel, add_channel, channel_of
from reader.channels.follows import follow_address, shared_feed_at, unfollow
from reader.channels.opml import export_follows
from reader.models import Follow, Place, Reader
from reader.pages.access import for_readers, surroundings
from reader.pages.posts import shown_places
from reader.rules.order import LARGEST_KEY, Stretch
from reader.timelines.pages import Timeline, page_of

# Each may ask other servers a dozen times.
LOOKS_A_MINUTE = 20
NEWEST = 5


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def follow(request: HttpRequest, reader: Reader) -> HttpResponse:
    """GET shows the form. A POST looks at an address, or (`act`) follows one that was found."""
    if request.method != "POST":
        return _form(request, reader, url=request.GET.get("url", ""), uid=request.GET.get("channel", ""))
    url, uid = one_line(request.POST.get("url", ""))[:MAX_FEED_URL], request.POST.get("channel", "")
    if request.POST.get("act") == "follow":
        return _follow(request, reader, url, uid)
    if not _may_look(reader):
        problem = gettext("That was often. Please wait a minute.")
        return _form(request, reader, url=url, uid=uid, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        found = discover(url, now=utcnow())
    except ValidationError:
        problem = gettext("This is not an address of the web. They look like https://example.org.")
        return _form(request, reader, url=url, uid=uid, problem=problem, status=HTTPStatus.BAD_REQUEST)
    problem = "" if found.candidates else gettext("No feed was found at this address.")
    return _form(request, reader, url=url, uid=uid, found=found, problem=problem, details=found.problem)


@for_readers
@require_safe
def feeds(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What the reader follows, channel by channel."""
    rows = Follow.objects.filter(channel__reader=reader).select_related("feed", "channel")
    follows = rows.order_by("channel__position", "channel", "feed__title", "pk")
    left = request.GET.get("left", "")
    context = {
        **surroundings(reader),
        "section": "feeds",
        "follows": follows,
        "left": left,
        "left_channel": reader.channels.filter(uid=request.GET.get("from", "")).first() if left else None,
    }
    return render(request, "reader/feeds.html", context)


@for_readers
@require_safe
def export(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What the reader follows as OPML."""
    lines = export_follows(reader, now=utcnow())
    name = f'attachment; filename="{reader.slug}.opml"'
    return HttpResponse("".join(lines), content_type="text/x-opml", headers={"Content-Disposition": name})


@for_readers
@require_safe
def feed(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    """How a feed does that the reader follows, and why there may be no posts of it."""
    follows = _follows(reader, pk)
    places = Place.objects.filter(reader=reader, feed=pk)
    page = page_of(Timeline(reader, follows[0].channel, pk), Stretch(limit=NEWEST))
    context = {
        **surroundings(reader),
        "section": "feeds",
        "feed": follows[0].feed,
        "follows": follows,
        "posts": shown_places(reader, page.places, page.unread),
        "muted": places.filter(hidden=Place.Hidden.MUTED).count(),
        "now": utcnow(),
    }
    return render(request, "reader/feed.html", context)


@for_readers
@require_POST
def stop_following(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    """Follows a feed in a channel no longer. The list of feeds offers to take that back."""
    followed = next(
        (one for one in _follows(reader, pk) if one.channel.uid == request.POST.get("channel")), None
    )
    if followed is None:
        raise Http404("This feed is not followed in that channel.")
    unfollow(channel=followed.channel, feed=followed.feed, now=utcnow())
    told = urlencode({"left": followed.feed.url, "from": followed.channel.uid})
    return HttpResponseRedirect(f"{reverse('reader:feeds')}?{told}")


def _follow(request: HttpRequest, reader: Reader, url: str, uid: str) -> HttpResponse:
    name = one_line(request.POST.get("new_channel", ""))
    if shared_feed_at(url) is None and not _may_look(reader):
        problem = gettext("That was often. Please wait a minute.")
        return _form(request, reader, url=url, uid=uid, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        channel = add_channel(reader=reader, name=name) if name else channel_of(reader, uid)
        follow_address(channel=channel, url=url)
    except NoSuchChannel:
        raise
    except (Refused, ValidationError) as error:
        problem = gettext("That could not be followed.")
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
    """The page with what was found; `details` are for whoever understands English."""
    followed = set(Follow.objects.filter(channel__reader=reader).values_list("feed__url", flat=True))
    around = surroundings(reader)
    context = {
        **around,
        "section": "follow",
        "url": url,
        "uid": uid,
        "found": found,
        "candidates": [(one, one.url in followed) for one in found.candidates] if found else [],
        "choices": [line for line in around["channels"] if not line.is_notifications],
        "problem": problem,
        "details": details,
    }
    return render(request, "reader/follow.html", context, status=status)


def _follows(reader: Reader, pk: int) -> list[Follow]:
    """Of one feed, in all channels. Raises Http404 where there are none."""
    rows = Follow.objects.filter(channel__reader=reader, feed=min(pk, LARGEST_KEY))
    found = list(rows.select_related("feed", "channel").order_by("pk"))
    if not found:
        raise Http404("You do not follow such a feed.")
    return found


def _may_look(reader: Reader) -> bool:
    return is_within(f"reader-looks-{reader.pk}", LOOKS_A_MINUTE)
