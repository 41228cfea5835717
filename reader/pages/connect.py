"""Connects the reader's site: the steps, and the page for posting there (Micropub)."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, gettext_noop

from common.clock import utcnow
from common.rates import Limit, count_within
from common.refused import Refused
from reader.indieauth.client import Begun
from reader.indieauth.discovery import site_url
from reader.micropub.connection import ask_site, connect, disconnect
from reader.pages.access import ReaderFormPage, confirmed, is_connecting, policy_to_own_sites
from reader.pages.forms import LineField
from reader.pages.news import lines_of
from reader.people.tokens import TakenSite
from reader.rules.micropub import LONGEST_POST_URL


class ConnectPage(ReaderFormPage):
    """Sends the reader to a site for consent. A POST may also disconnect it."""

    failure = gettext_noop("This site couldn’t be connected.")
    # Each attempt makes several requests to another server.
    limit: Limit
    session_key: str

    @method_decorator(confirmed(is_connecting, app="reader"))
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


class AnswerPage(ConnectPage):
    """Return from the site. The state in the session works once."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.finish(request.session.pop(self.session_key, {}), request.GET.dict())
        return HttpResponseRedirect(self.get_success_url())


class ConnectForm(forms.Form):
    me = LineField(longest=LONGEST_POST_URL)


class Connect(ConnectPage):
    form_class = ConnectForm
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


class Connected(AnswerPage, Connect):
    pass
