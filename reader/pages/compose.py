"""Connects the reader's site: the steps, and the page for posting there (Micropub)."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django.views.decorators.http import require_POST

from common.body_limits import takes_body
from common.clock import utcnow
from common.net.errors import host_of
from common.pictures.picture import CleanPicture
from common.rates import Limit, count_within
from common.refused import Refused
from reader.indieauth.client import Begun
from reader.indieauth.discovery import site_url
from reader.micropub import compositions as written
from reader.micropub.site import ask_site, config_at, connect, disconnect, site_of
from reader.models import Composition, Entry, Reader
from reader.pages.access import (
    ReaderFormPage,
    ReaderPage,
    back_to,
    confirmed,
    for_readers,
    keys_in,
    policy_to_own_sites,
)
from reader.pages.forms import LineField
from reader.pages.posts import WRITTEN_KIND_WORDS, WrittenLine
from reader.people.tokens import TakenSite
from reader.rules.identity import LONGEST_IDENTITY
from reader.rules.micropub import (
    ARTICLE,
    KINDS_WITH,
    LONGEST_CONTENT,
    LONGEST_NAME,
    LONGEST_POST_URL,
    MOST_PHOTOS,
    NOTE,
    REPLY,
    WRITTEN_KINDS,
    Said,
    categories_of,
    cleaned,
    fitting,
)
from reader.rules.order import LARGEST_KEY, number_in
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
KINDS_SHOWN_WITH = {**KINDS_WITH, "pictures": (NOTE, ARTICLE, REPLY)}
# Seconds until the page reloads.
LOOKS_AGAIN = 3
LISTED = 20


@method_decorator(takes_body(MOST_SENT, files=True, for_users=True), name="dispatch")
class ComposePage(ReaderPage):
    """The form, empty or with a `draft`. A POST saves it, and may send it."""

    template_name = "reader/compose.html"
    section = "compose"
    said: Said
    key: str
    entry: Entry | None

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if text := request.GET.get("draft", ""):
            row = written.composition_of(self.reader, number_in(text) or 0)
            if row.state not in written.CHANGEABLE:
                return redirect("reader:composed", row.pk)
            self.said, self.key, self.entry = Said.from_json(row.said), row.key, row.entry
            return super().get(request)
        self.key, self.entry = secrets.token_urlsafe(12), _entry(self.reader, request.GET.get("entry", ""))
        if site_of(self.reader) is None:
            return Connect.as_view()(request)
        about = (self.entry.jf2 or {}) if self.entry else request.GET
        kind = request.GET.get("kind", NOTE)
        url = str(about.get("url", ""))[:LONGEST_POST_URL]
        self.said = Said(kind=kind if kind in WRITTEN_KINDS else NOTE, url=url)
        return super().get(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Save the form even if it has errors."""
        act, self.key, self.said = request.POST.get("act", ""), request.POST.get("key", ""), _said(request)
        try:
            self.entry = _entry(self.reader, request.POST.get("entry", ""))
        except NoSuchEntry:
            # The post was deleted meanwhile.
            self.entry = None
        if act == "disconnect":
            disconnect(reader=self.reader)
            if not (self.said.content or self.said.name or self.said.url or request.FILES):
                return redirect("reader:compose")
        if act.startswith("as-"):
            self.said = replace(self.said, kind=act.removeprefix("as-"))
        photos, problem = _new_photos(request)
        keep = partial(
            written.keep, reader=self.reader, said=self.said, entry=self.entry, photos=photos, now=utcnow()
        )
        row = keep(key=self.key, removed=keys_in(request.POST.getlist("remove")))
        if row.state not in written.CHANGEABLE and Said.from_json(row.said) != fitting(cleaned(self.said)):
            # Somebody went back and changed a sent post: save another draft, and ask.
            row = keep(key=f"{self.key[:40]}-{hashlib.sha256(repr(self.said).encode()).hexdigest()[:16]}")
            return HttpResponseRedirect(f"{reverse('reader:compose')}?draft={row.pk}&again")
        if problem:
            raise Refused(problem, "photo")
        if act == "send":
            row = written.hand_over(composition=row, now=utcnow())
        if row.state in written.CHANGEABLE:
            return HttpResponseRedirect(f"{reverse('reader:compose')}?draft={row.pk}")
        return redirect("reader:composed", row.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        said, entry, site = self.said, self.entry, site_of(self.reader)
        row = self.reader.compositions.filter(key=self.key).first()
        photos = list(row.photos.defer("data")) if row else []
        return super().get_context_data(
            said=said,
            key=self.key,
            row=row,
            entry=entry,
            about=str((entry.jf2 or {}).get("name", "")) if entry else "",
            kinds=[(kind, WRITTEN_KIND_WORDS[kind]) for kind in WRITTEN_KINDS],
            has={name: said.kind in kinds for name, kinds in KINDS_SHOWN_WITH.items()},
            rsvps=RSVP_WORDS,
            visibilities=VISIBILITY_WORDS,
            photos=photos,
            slots=range(MOST_PHOTOS - len(photos)),
            targets=config_at(site).targets if site else (),
            host=host_of(self.reader.me),
            is_connected=site is not None,
            is_another="again" in self.request.GET,
            lines=lines_of(self.reader),
            longest={"name": LONGEST_NAME, "content": LONGEST_CONTENT, "url": LONGEST_POST_URL},
            **kwargs,
        )


class ComposedPage(ReaderPage):
    template_name = "reader/composed.html"
    section = "compose"

    @cached_property
    def row(self) -> Composition:
        return written.composition_of(self.reader, min(self.kwargs["pk"], LARGEST_KEY))

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        match request.POST.get("act"):
            case "again":
                written.send_again(composition=self.row, now=utcnow())
            case "is-there":
                written.call_posted(composition=self.row)
            case "take-back":
                written.recall(composition=self.row)
            case "throw-away":
                written.throw_away(composition=self.row)
                return redirect("reader:compose")
            case _:
                raise Http404("That isn’t possible with this post.")
        return redirect("reader:composed", self.row.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            line=WrittenLine(self.row),
            host=host_of(self.reader.me),
            photos=self.row.photos.defer("data"),
            **kwargs,
        )

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        if self.row.state == Composition.State.KEPT:
            return HttpResponseRedirect(f"{reverse('reader:compose')}?draft={self.row.pk}")
        response = super().render_to_response(context, **kwargs)
        if self.row.state in written.UNDER_WAY and not self.row.problem:
            response.headers["Refresh"] = str(LOOKS_AGAIN)
        return response


@for_readers
@require_POST
def reaction(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    entry = entry_of(reader, pk)
    try:
        written.react(reader=reader, entry=entry, kind=request.POST.get("act", ""), now=utcnow())
    except Refused as error:
        raise Http404(str(error)) from error
    return HttpResponseRedirect(back_to(request, reverse("reader:post", args=[entry.pk])))


def lines_of(reader: Reader) -> list[WrittenLine]:
    return [WrittenLine(row) for row in reader.compositions.order_by("-made_at", "-pk")[:LISTED]]


def _said(request: HttpRequest) -> Said:
    given = request.POST
    kind = given.get("kind", NOTE)
    return Said(
        kind=kind if kind in WRITTEN_KINDS else NOTE,
        **{name: given.get(name, "") for name in ("url", "name", "content", "rsvp", "visibility")},
        categories=categories_of(given.get("categories", "")),
        targets=tuple(given.getlist("target")),
    )


def _new_photos(request: HttpRequest) -> tuple[list[tuple[CleanPicture, str]], str]:
    photos, problem = [], ""
    for number in range(MOST_PHOTOS):
        file = request.FILES.get(f"photo-{number}")
        if file is None:
            continue
        try:
            picture = written.clean_photo(cast(BinaryIO, file))
            photos.append((picture, request.POST.get(f"alt-{number}", "")))
        except Refused as error:
            problem = str(error)
    return photos, problem


def _entry(reader: Reader, text: str) -> Entry | None:
    number = number_in(text)
    return None if number is None else entry_of(reader, number)


class SiteForm(forms.Form):
    me = LineField(longest=LONGEST_IDENTITY + 1)


class ConnectPage(ReaderFormPage):
    """Sends the reader to a site for consent. A POST may also disconnect it."""

    form_class = SiteForm
    failure = gettext_noop("This site couldn’t be connected.")
    # Each attempt makes several requests to another server.
    limit: Limit
    session_key: str
    # Whether the site redirects here. The state in the session works once.
    is_return = False

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self.is_return:
            return super().get(request, *args, **kwargs)
        self.finish(request.session.pop(self.session_key, {}), request.GET.dict())
        return HttpResponseRedirect(self.get_success_url())

    @method_decorator(confirmed(lambda given: given.get("act") != "disconnect", app="reader"))
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.POST.get("act") == "disconnect":
            self.disconnect()
            return HttpResponseRedirect(self.get_success_url())
        if not count_within((self.limit, str(self.reader.pk))):
            return self.refuse_attempt()
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        begun = self.begin(form.cleaned_data["me"])
        self.request.session[self.session_key] = begun.kept
        return HttpResponseRedirect(begun.url)

    def refused(self, error: Refused | ValidationError) -> HttpResponse:
        if isinstance(error, TakenSite):
            words = gettext("Someone else here has already connected this site.")
            return self.refuse(words, form=self.get_form_class()())
        return super().refused(error)

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        headers = {"Content-Security-Policy": policy_to_own_sites()}
        return super().render_to_response(context, headers=headers, **kwargs)

    def begin(self, me: str) -> Begun:
        raise NotImplementedError

    def finish(self, kept: Mapping[str, Any], answer: Mapping[str, str]) -> None:
        raise NotImplementedError

    def disconnect(self) -> None:
        raise NotImplementedError


class Connect(ConnectPage):
    template_name = "reader/connect.html"
    section = "compose"
    success_url = reverse_lazy("reader:compose")
    limit = Limit("reader-connects", 10)
    session_key = "micropub"

    def get_initial(self) -> dict[str, Any]:
        return {"me": self.reader.me}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(lines=lines_of(self.reader), **kwargs)

    def begin(self, me: str) -> Begun:
        return ask_site(me=me, redirect_uri=site_url("reader:connected"), now=utcnow())

    def finish(self, kept: Mapping[str, Any], answer: Mapping[str, str]) -> None:
        connect(reader=self.reader, kept=kept, answer=answer, now=utcnow())

    def disconnect(self) -> None:
        disconnect(reader=self.reader)
