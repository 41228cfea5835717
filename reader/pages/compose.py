import hashlib
import secrets
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, BinaryIO, cast

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from common.body_limits import takes_body
from common.clock import utcnow
from common.net.errors import host_of
from common.refused import Refused
from reader.micropub import compositions as written
from reader.micropub.connection import config_at, disconnect, site_of
from reader.models import Composition, Entry, Reader
from reader.pages.access import back_to, for_readers, keys_in, surroundings
from reader.pages.connect import Connect
from reader.pages.news import Line, lines_of
from reader.pages.posts import WRITTEN_KIND_WORDS
from reader.rules.micropub import (
    ARTICLE,
    BOOKMARK,
    LIKE,
    LONGEST_CONTENT,
    LONGEST_NAME,
    LONGEST_POST_URL,
    MOST_PHOTOS,
    NOTE,
    PROPERTY,
    REPLY,
    REPOST,
    WRITTEN_KINDS,
    Said,
    categories_of,
    cleaned,
    fitting,
)
from reader.rules.order import LARGEST_KEY
from reader.timelines.stars import NoSuchEntry, entry_of

# Four pictures and the text.
MOST_SENT = 34 * 1024 * 1024
RSVP_WORDS = {
    "yes": gettext_lazy("I come"),
    "no": gettext_lazy("I’m not coming"),
    "maybe": gettext_lazy("perhaps"),
    "interested": gettext_lazy("I am interested"),
}
VISIBILITY_WORDS = {
    "": gettext_lazy("my site’s default"),
    "public": gettext_lazy("public"),
    "unlisted": gettext_lazy("anyone with the link"),
    "private": gettext_lazy("private"),
}
WITH_PICTURES = (NOTE, ARTICLE, REPLY)
# Seconds until the page reloads.
LOOKS_AGAIN = 3


@takes_body(MOST_SENT, files=True, for_users=True)
@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def compose_page(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Show the form, empty or with a `draft`. A POST saves it, and may send it."""
    if request.method == "POST":
        return _keep(request, reader)
    if text := request.GET.get("draft", ""):
        row = _composition(reader, next(iter(keys_in([text])), 0))
        if row.state not in written.CHANGEABLE:
            return HttpResponseRedirect(reverse("reader:composed", args=[row.pk]))
        return _form(request, reader, Said.from_json(row.said), key=row.key, entry=row.entry)
    entry = _entry(reader, request.GET.get("entry", ""))
    about, kind = (entry.jf2 or {}) if entry else request.GET, request.GET.get("kind", NOTE)
    said = Said(
        kind=kind if kind in WRITTEN_KINDS else NOTE, url=str(about.get("url", ""))[:LONGEST_POST_URL]
    )
    return _form(request, reader, said, key=secrets.token_urlsafe(12), entry=entry)


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def composed(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    row = _composition(reader, min(pk, LARGEST_KEY))
    problem = ""
    if request.method == "POST":
        try:
            return HttpResponseRedirect(_acted(row, request.POST.get("act", "")))
        except Refused as error:
            problem = str(error)
    if row.state == Composition.State.KEPT:
        return HttpResponseRedirect(f"{reverse('reader:compose')}?draft={row.pk}")
    context = {
        **surroundings(reader),
        "section": "compose",
        "line": Line(row, Said.from_json(row.said)),
        "host": host_of(reader.me),
        "photos": row.photos.defer("data"),
        "problem": problem,
    }
    response = render(request, "reader/composed.html", context, status=_status(problem))
    if row.state in written.UNDER_WAY and not row.problem:
        response.headers["Refresh"] = str(LOOKS_AGAIN)
    return response


@for_readers
@require_POST
def reaction(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    entry = entry_of(reader, min(pk, LARGEST_KEY))
    try:
        written.react(reader=reader, entry=entry, kind=request.POST.get("act", ""), now=utcnow())
    except Refused as error:
        raise Http404(str(error)) from error
    return HttpResponseRedirect(back_to(request, reverse("reader:post", args=[entry.pk])))


def _keep(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Save the form even if it has errors."""
    act, key = request.POST.get("act", ""), request.POST.get("key", "")
    said = _said(request)
    try:
        entry = _entry(reader, request.POST.get("entry", ""))
    except NoSuchEntry:
        # The post was deleted meanwhile.
        entry = None
    if act == "disconnect":
        disconnect(reader=reader)
        if not (said.content or said.name or said.url or request.FILES):
            return HttpResponseRedirect(reverse("reader:compose"))
    if act.startswith("as-"):
        said = replace(said, kind=act.removeprefix("as-"))
    try:
        photos, problem = _new_photos(request)
        keep = partial(written.keep, reader=reader, said=said, entry=entry, photos=photos, now=utcnow())
        row = keep(key=key, removed=keys_in(request.POST.getlist("remove")))
        if row.state not in written.CHANGEABLE and Said.from_json(row.said) != fitting(cleaned(said)):
            # Somebody went back and changed a sent post: save another draft, and ask.
            row = keep(key=f"{key[:40]}-{hashlib.sha256(repr(said).encode()).hexdigest()[:16]}")
            return HttpResponseRedirect(f"{reverse('reader:compose')}?draft={row.pk}&again")
        if problem:
            raise Refused(problem, "photo")
        if act == "send":
            row = written.hand_over(composition=row, now=utcnow())
    except Refused as error:
        return _form(request, reader, said, key=key, entry=entry, error=error)
    if row.state in written.CHANGEABLE:
        return HttpResponseRedirect(f"{reverse('reader:compose')}?draft={row.pk}")
    return HttpResponseRedirect(reverse("reader:composed", args=[row.pk]))


def _said(request: HttpRequest) -> Said:
    given = request.POST
    kind = given.get("kind", NOTE)
    return Said(
        kind=kind if kind in WRITTEN_KINDS else NOTE,
        **{name: given.get(name, "") for name in ("url", "name", "content", "rsvp", "visibility")},
        categories=categories_of(given.get("categories", "")),
        targets=tuple(given.getlist("target")),
    )


def _new_photos(request: HttpRequest) -> tuple[list[written.NewPhoto], str]:
    photos, problem = [], ""
    for number in range(MOST_PHOTOS):
        file = request.FILES.get(f"photo-{number}")
        if file is None:
            continue
        try:
            picture = written.clean_photo(cast(BinaryIO, file))
            photos.append(written.NewPhoto(picture, request.POST.get(f"alt-{number}", "")))
        except Refused as error:
            problem = str(error)
    return photos, problem


def _form(
    request: HttpRequest,
    reader: Reader,
    said: Said,
    *,
    key: str,
    entry: Entry | None,
    error: Refused | None = None,
) -> HttpResponse:
    row = reader.compositions.filter(key=key).first()
    site = site_of(reader)
    if site is None and row is None and error is None:
        return Connect.as_view()(request)
    photos = list(row.photos.defer("data")) if row else []
    targets = config_at(site).targets if site else ()
    context = {
        **surroundings(reader),
        "section": "compose",
        "said": said,
        "key": key,
        "row": row,
        "entry": entry,
        "about": str((entry.jf2 or {}).get("name", "")) if entry else "",
        "kinds": [(kind, WRITTEN_KIND_WORDS[kind]) for kind in WRITTEN_KINDS],
        "has": {
            "url": said.kind in PROPERTY,
            "name": said.kind in (ARTICLE, BOOKMARK),
            "content": said.kind not in (LIKE, REPOST),
            "pictures": said.kind in WITH_PICTURES,
        },
        "rsvps": RSVP_WORDS,
        "visibilities": VISIBILITY_WORDS,
        "photos": photos,
        "slots": range(MOST_PHOTOS - len(photos)),
        "targets": targets,
        "host": host_of(reader.me),
        "is_connected": site is not None,
        "is_another": "again" in request.GET,
        "lines": lines_of(reader),
        "problem": str(error) if error else "",
        "field": error.field if error else "",
        "longest": {"name": LONGEST_NAME, "content": LONGEST_CONTENT, "url": LONGEST_POST_URL},
    }
    return render(request, "reader/compose.html", context, status=_status(context["problem"]))


def _acted(row: Composition, act: str) -> str:
    """Return the address to redirect to. Raises Refused."""
    match act:
        case "again":
            written.send_again(composition=row, now=utcnow())
        case "is-there":
            written.call_posted(composition=row)
        case "take-back":
            written.take_back(composition=row)
        case "throw-away":
            written.throw_away(composition=row)
            return reverse("reader:compose")
        case _:
            raise Http404("That isn’t possible with this post.")
    return reverse("reader:composed", args=[row.pk])


def _composition(reader: Reader, pk: int) -> Composition:
    try:
        return written.composition_of(reader, pk)
    except written.NoSuchComposition as error:
        raise Http404(str(error)) from error


def _entry(reader: Reader, text: str) -> Entry | None:
    numbers = keys_in([text])
    return entry_of(reader, numbers[0]) if numbers else None


def _status(problem: Any) -> HTTPStatus:
    return HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
