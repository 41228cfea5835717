"""Forms here and on other sites, and links of upstream's letters: /v0/subscription/confirm, /remove."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from common.clock import utcnow
from common.languages import asked_for
from common.ports import channels
from common.rates import OverLimit
from common.signing import TokenError, link_token, without_tail
from subscriptions import links
from subscriptions.forms.sign_up import CodeForm, PhoneForm, SignUpForm
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.embed_hosts import Address, allowed, sites, sources
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import MOST_CHOSEN_AT_ONCE, Suffix, meant, webmail_of
from subscriptions.rules.validation import UpstreamSignUp, WrongFields, read_sign_up
from subscriptions.subscribers import notices
from subscriptions.subscribers.antispam import new_sum
from subscriptions.subscribers.sign_up import (
    Gone,
    Uncheckable,
    confirm_by_code,
    is_by_code,
    is_open,
    is_waiting,
    let_confirm,
    subscription_of,
)
from subscriptions.views.pages import (
    POLICY,
    Page,
    TokenPage,
    focus_on_error,
    page,
    public,
    read_told,
    same_time,
    shows_and_acts,
    token_page,
    told_url,
)
from subscriptions.views.subscription import ConfirmPage, LeavePage


class SignUpPage(Page):
    """Form for newsletters. The response takes the same time for all addresses and numbers."""

    how = How.PAGE

    def get_newsletters(self) -> Sequence[Subscribable]:
        raise NotImplementedError

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "subscribables": self.get_newsletters(), "ip": self.ip}

    def form_invalid(self, form: SignUpForm) -> HttpResponse:
        focus_on_error(form)
        return super().form_invalid(form)

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        try:
            with same_time():
                if not form.is_robot:
                    origin = Origin.of(self.request.META, self.how, form.consent)
                    form.save(origin=origin, language=asked_for(self.request))
                response = self.answer(form)
        except OverLimit as over:
            seconds = over.seconds_left(utcnow())
            context = {"minutes": math.ceil(seconds / 60), "newsletter": form.subscribables[0]}
            if self.request.path.endswith("/embed/"):
                context["base"] = "pages/embed/base.html"
            response = render(self.request, "429.html", context, status=429)
            response["Retry-After"] = str(seconds)
        patch_cache_control(response, no_store=True)
        return response

    def answer(self, form: SignUpForm) -> HttpResponse:
        return HttpResponseRedirect(told_url(reverse(form.next_page), form.told), status=303)


class NewsletterSignUpPage(SignUpPage):
    """Form for one newsletter, unless it is private."""

    closed_status = 403

    @cached_property
    def newsletter(self) -> Subscribable:
        newsletter = Subscribable.objects.with_pages().named(self.kwargs["name"]).first()
        if newsletter is None:
            raise Http404
        return newsletter

    def get_newsletters(self) -> Sequence[Subscribable]:
        return [self.newsletter]

    def get_form_class(self) -> type[SignUpForm]:
        return form_class_of(self.newsletter)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        facts = {"newsletter": self.newsletter, "is_open": is_open(self.newsletter)}
        return super().get_context_data(**facts, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().post(request, *args, **kwargs) if is_open(self.newsletter) else self.closed()

    def closed(self) -> HttpResponse:
        return self.show(self.get_form(), status=self.closed_status)


def form_class_of(newsletter: Subscribable) -> type[SignUpForm]:
    return PhoneForm if is_by_code(newsletter) else SignUpForm


def asked_context(newsletters: Sequence[Subscribable], email: str, name: str) -> dict[str, Any]:
    return {
        "newsletter": newsletters[0],
        "newsletters": newsletters,
        "email": email,
        "meant": meant(email),
        "webmail": webmail_of(email),
        "name": name,
    }


def told_sign_up(request: HttpRequest) -> dict[str, Any] | None:
    values = read_told(request)
    if values is None:
        return None
    names = values.get("newsletters", "").split()[:MOST_CHOSEN_AT_ONCE]
    rows = {each.name: each for each in Subscribable.objects.with_pages().named(*names)}
    newsletters = [rows[name] for name in names if name in rows]
    email, name = values.get("email", ""), values.get("name", "")
    return asked_context(newsletters, email, name) if newsletters else None


@require_safe
@cache_control(no_store=True)
@page
def asked(request: HttpRequest) -> HttpResponse:
    context = told_sign_up(request)
    if context is None:
        return HttpResponseRedirect(reverse("subscriptions:newsletters"))
    return render(request, "pages/check_your_mail.html", context)


@never_cache
@require_safe
def challenge(request: HttpRequest) -> JsonResponse:
    """Works for forms on any site. Nothing is stored."""
    response = JsonResponse({"challenge": new_sum(now=utcnow())})
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@method_decorator([csrf_exempt, shows_and_acts, token_page], name="dispatch")
class CodePage(Page):
    """The response depends only on the input, never on what is known of the number.

    The URL authorizes: no cookie, no CSRF token.
    """

    form_class = CodeForm
    template_name = "pages/code.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.told = read_told(request) or {}
        newsletter = Subscribable.objects.with_pages().named(self.told.get("newsletter", "")).first()
        if newsletter is None or not self.told.get("core"):
            return HttpResponseRedirect(reverse("subscriptions:newsletters"))
        self.newsletter, self.tries = newsletter, int(self.told.get("tries", "0"))
        asked_at = datetime.fromtimestamp(float(self.told.get("at", "0")), tz=self.now.tzinfo)
        is_late = self.now >= asked_at + notices.CODE_GOOD_FOR
        self.is_over = is_late or self.tries >= notices.MOST_TRIES
        is_wrong = self.tries and not self.is_over and request.method != "POST"
        self.extra_context = {
            "newsletter": newsletter,
            "number": self.told.get("label", ""),
            "is_over": self.is_over,
            "is_late": is_late,
            "path": request.get_full_path(),
            "tries_left": notices.MOST_TRIES - self.tries,
            "minutes": int(notices.CODE_GOOD_FOR / timedelta(minutes=1)),
            "wrong": gettext("That’s not the code. Please check the message again.") if is_wrong else "",
        }
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self.show(CodeForm()) if self.is_over else super().post(request, *args, **kwargs)

    def form_valid(self, form: CodeForm) -> HttpResponse:
        with same_time():
            confirmed = confirm_by_code(
                kind=self.newsletter.channel,
                core=self.told["core"],
                typed=form.cleaned_data["code"],
                now=self.now,
                origin=Origin(How.PAGE, ip=self.ip),
            )
        if confirmed:
            url = links.confirm_url(*confirmed, now=self.now).removeprefix(settings.SITE_URL)
        else:
            url = told_url(self.request.path, {**self.told, "tries": str(self.tries + 1)})
        return HttpResponseRedirect(url, status=303)


@method_decorator([xframe_options_exempt, csrf_exempt, shows_and_acts], name="dispatch")
class EmbeddedPage(NewsletterSignUpPage):
    how = How.EMBED
    template_name = "pages/embed/form.html"

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        if request.GET.get("by") == "widget":
            self.how = How.WIDGET

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not is_by_code(self.newsletter):
            response = super().dispatch(request, *args, **kwargs)
        else:
            # A frame has no room for the second page.
            response = render(request, "pages/embed/elsewhere.html", {"newsletter": self.newsletter})
        # Only the newsletter's sites and our admin may frame it.
        ancestors = " ".join(["'self'", *sources(sites(self.newsletter.embed_hosts))])
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; worker-src 'self';"
            f" img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
        )
        return response

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        context = told_sign_up(request)
        if context is None:
            return super().get(request, *args, **kwargs)
        response = render(request, "pages/embed/done.html", context)
        response.headers["Cache-Control"] = "no-store"
        return response

    def closed(self) -> HttpResponse:
        form = self.get_form()
        return self.show(form, status=400 if form.errors else 200)

    def answer(self, form: SignUpForm) -> HttpResponse:
        # The same URL shows the result, so `by` is kept.
        by = "?by=widget" if self.how == How.WIDGET else ""
        return HttpResponseRedirect(told_url(f"{self.request.path}{by}", form.told), status=303)


@method_decorator(public, name="dispatch")
class SitesFormPage(NewsletterSignUpPage):
    """Handle another site's own form, and redirect back if allowed."""

    how = How.EMBED
    template_name = "pages/embed/again.html"

    @cached_property
    def back(self) -> Address | None:
        return allowed(self.newsletter.embed_hosts, self.request.POST.get("return_to", ""))

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST" or is_by_code(self.newsletter):
            return HttpResponseRedirect(links.page_url(self.newsletter), status=303)
        return super().dispatch(request, *args, **kwargs)

    def show(self, form: Any, *, status: int = 200) -> HttpResponse:
        response = super().show(form, status=status)
        if self.back is not None:
            # Browsers apply form-action to redirects after a form too.
            response["Content-Security-Policy"] = POLICY.replace(
                "form-action 'self'", f"form-action 'self' {self.back.origin}"
            )
        return response

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        response = super().form_valid(form)
        if self.back and response.status_code == 303:
            return HttpResponseRedirect(str(self.back), status=303)
        return response


class OldForm(SignUpForm):
    """Its text is unknown, so it is no proof of consent."""

    @property
    def consent(self) -> str:
        return super().consent if self.data.get("shown") else ""


@method_decorator(public, name="dispatch")
class CreatePage(NewsletterSignUpPage):
    """Old forms, which programs post, too: so there is no redirect."""

    closed_status = 400
    how = How.V0
    is_upstream = True
    template_name = "pages/embed/again.html"

    @cached_property
    def wanted(self) -> UpstreamSignUp:
        # Form fields override the URL's.
        given = dict(self.request.POST.lists())
        for name, values in self.request.GET.lists():
            given.setdefault(name, values)
        return read_sign_up((name, str(value)) for name, values in given.items() for value in values)

    @cached_property
    def newsletter(self) -> Subscribable:
        """Private newsletters and bridges are for administrators only. Raises WrongFields."""
        rows, name = Subscribable.objects.with_pages(), self.wanted.newsletter
        newsletter = rows.named(name).first() or rows.once_named(name).first()
        if newsletter is None:
            raise WrongFields("There is no newsletter of that name (subscribableName).")
        if not channels.get(newsletter.channel).public_sign_up or self.wanted.type != newsletter.channel:
            raise WrongFields("Such a subscription must be made by an administrator.")
        return newsletter

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            newsletter = self.newsletter
        except WrongFields as error:
            return render(request, "pages/upstream/refused.html", {"reason": str(error)}, status=400)
        if is_by_code(newsletter):
            return HttpResponseRedirect(links.page_url(newsletter), status=303)
        return super().dispatch(request, *args, **kwargs)

    def get_form_class(self) -> type[SignUpForm]:
        return OldForm

    def get_form_kwargs(self) -> dict[str, Any]:
        kwargs, filled = super().get_form_kwargs(), {"email": self.wanted.email, "name": self.wanted.name}
        if "data" in kwargs:
            kwargs["data"] = {**kwargs["data"].dict(), **filled}
        return {**kwargs, "initial": filled}

    def answer(self, form: SignUpForm) -> HttpResponse:
        context = asked_context(form.subscribables, form.cleaned_data["email"], form.cleaned_data["name"])
        return render(self.request, "pages/check_your_mail.html", context)


class InvitationPage(TokenPage):
    """Our page of a link, for a link that upstream made. Its proof authorizes."""

    url_name: str

    @property
    def path(self) -> str:
        return reverse(f"subscriptions:{self.url_name}", args=[self.token])

    def parameter(self, name: str) -> str:
        return without_tail(self.request.POST.get(name) or self.request.GET.get(name, ""))

    def invited(self, suffix: Suffix) -> Subscription | None:
        """Return None if only our tokens can prove it."""
        number, invitation = self.parameter("subscriptionId"), self.parameter("invitation")
        return subscription_of(subscription_id=number, invitation=invitation, suffix=suffix)

    def bad_link(self, error: TokenError) -> HttpResponse:
        if isinstance(error, Gone):
            return render(self.request, "pages/upstream/gone.html", {"reason": str(error)})
        if isinstance(error, Uncheckable):
            return render(self.request, "pages/upstream/uncheckable.html", {"reason": str(error)}, status=400)
        return super().bad_link(error)


class ConfirmInvitationPage(InvitationPage, ConfirmPage):
    url_name = "confirm"

    def get_object(self) -> list[Subscription]:
        subscription = self.invited(Suffix.CONFIRM)
        if subscription is None:
            self.kwargs["token"] = self.parameter("invitation")
            return super().get_object()
        if is_waiting(subscription, now=self.now):
            if self.request.method != "POST":
                return [subscription]
            let_confirm(subscription=subscription)
        # After confirmation the page shows the status.
        waits = subscription.status == Subscription.Status.UNCONFIRMED
        url = links.confirm_url(subscription, now=subscription.added_at if waits else self.now)
        self.kwargs["token"] = url.rstrip("/").rpartition("/")[2]
        return super().get_object()


class LeaveInvitationPage(InvitationPage, LeavePage):
    url_name = "unsubscribe"

    def get_object(self) -> Subscription:
        subscription = self.invited(Suffix.REMOVE)
        if subscription is None:
            self.kwargs["token"] = f"{self.parameter('subscriptionId')}-{self.parameter('invitation')}"
        else:
            self.kwargs["token"] = link_token(subscription.pk, subscription.token, links.UNSUBSCRIBE)
        return super().get_object()
