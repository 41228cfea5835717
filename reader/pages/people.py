from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from django.contrib.auth import get_user, login
from django.contrib.auth.hashers import make_password
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
    StreamingHttpResponse,
)
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from common.clock import utcnow
from common.refused import Refused
from reader.channels.channels import channel_of
from reader.models import Reader
from reader.pages.access import counts_of, for_readers, for_users, reading_page
from reader.pages.forms import NameForm, NewcomerForm
from reader.people.invitations import InvitationOver, accept, open_invitation
from reader.people.readers import LONGEST_SLUG, NameTaken, add_reader, may_begin, reading
from reader.rules.order import BadCursor, Key, number_in
from reader.streams.stream import STREAM_HEADERS, TRIES_AGAIN_AFTER, Stream, TooManyStreams
from reader.timelines.pages import Timeline, newer_than

MOST_NEW = 1_000
MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"
# Called with the name and, for a new user, address and hashed password.
Admission = Callable[..., Reader]


@for_users
@require_http_methods(["GET", "HEAD", "POST"])
def begin_reading(request: HttpRequest) -> HttpResponse:
    if Reader.objects.filter(user=request.user.pk).exists():
        return HttpResponseRedirect(reverse("reader:all"))
    if not may_begin(request.user):
        return render(request, "reader/not_yet.html", status=403)
    username = request.user.get_username()
    form = NameForm(request.POST or None, initial={"name": offered_name(username)})
    admit = partial(add_reader, username=username, now=utcnow())
    if request.method == "POST" and admitted(form, admit):
        return HttpResponseRedirect(reverse("reader:all"))
    return render(request, "reader/begin.html", {"form": form}, status=400 if form.errors else 200)


@sensitive_post_parameters("password1")
@reading_page
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, key: str) -> HttpResponse:
    response = _answer_to(request, key)
    # The address is a secret. Not no-referrer: then browsers send "Origin: null", which the CSRF check
    # refuses.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def _answer_to(request: HttpRequest, key: str) -> HttpResponse:
    user, now = request.user, utcnow()
    reads_here = user.is_authenticated and Reader.objects.filter(user=user.pk).exists()
    try:
        invited = open_invitation(key=key, now=now)
        if reads_here:
            return render(request, "reader/reads_already.html", {"user": user, "is_open": True})
        data = request.POST or None
        offered = {"name": offered_name(user.get_username() or invited.name)}
        made = NameForm if user.is_authenticated else NewcomerForm
        form = made(data, initial=offered)
        admit = partial(accept, key=key, username=user.get_username(), now=now)
        if data is not None and (reader := admitted(form, admit)):
            if not user.is_authenticated:
                login(request, reader.user, MODEL_BACKEND)
            return HttpResponseRedirect(reverse("reader:all"))
    except InvitationOver as error:
        if reads_here:
            return render(request, "reader/reads_already.html", {"user": user})
        return render(request, "reader/invitation_over.html", {"reason": error}, status=410)
    return render(request, "reader/begin.html", {"form": form}, status=400 if form.errors else 200)


def admitted(form: NameForm, admit: Admission) -> Reader | None:
    """Return None with errors on the form. Raises InvitationOver."""
    if not form.is_valid():
        return None
    given = {"name": form.cleaned_data["name"]}
    if isinstance(form, NewcomerForm):
        # Too slow for a lock: a quarter of a second.
        given["password"] = make_password(form.cleaned_data["password1"])
        given["email"] = form.cleaned_data["email"]
    try:
        return admit(**given)
    except InvitationOver:
        raise
    except NameTaken:
        form.add_error("name", gettext("This name is taken. Choose another one."))
    except Refused as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
    return None


def offered_name(words: str) -> str:
    return slugify(words.partition("@")[0])[:LONGEST_SLUG].strip("-_")


@for_readers
@require_GET
def news(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Return the unread counts, and how many posts are newer than the page."""
    uid, since = request.GET.get("channel", ""), request.GET.get("since", "")
    channel, feed = channel_of(reader, uid) if uid else None, number_in(request.GET.get("feed", ""))
    timeline = Timeline(reader, channel, feed)
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
    return reading(pk=reader.pk, user=get_user(request).pk) is not None
