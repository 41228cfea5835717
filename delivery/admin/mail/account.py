"""Admin pages of mail accounts, and the page “Email set-up”."""

from copy import deepcopy
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.html import format_html

from channels.account import EMAIL
from channels.email.account_url import parse_email_url
from channels.email.esp.services import SERVICES
from channels.email.esp.settings import EspSettings
from channels.email.smtp_login import SmtpSettings
from common.access import opens_for
from common.admin.html import add_url, column, moment_of, object_url, page, when
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.admin.refusals import report, require
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Facts, Link, Part, listed
from common.ports.panels import Panel
from delivery.accounts.accounts import (
    add_account,
    alter_account,
    default_account,
    keeps_letters,
    last_refused_call,
    make_default,
    newsletters_of,
    server_of,
    stop_default,
    usual_sender,
    way_in_words,
)
from delivery.accounts.providers import PROVIDERS, Provider, provider_of
from delivery.admin.mail.account_forms import (
    STORED,
    AccountForm,
    ServerForm,
    initial_of,
    known_target,
    service_form,
)
from delivery.doctor.checks import is_private
from delivery.letters.trial import try_account
from delivery.models import Account, Lane
from delivery.resources.accounts import accounts

SET_UP_PAGE = "mail_set_up"
MAY_SEE, MAY_ADD, MAY_CHANGE = "delivery.view_account", "delivery.add_account", "delivery.change_account"
# Session key of a test address other than the user's own.
TEST_ADDRESS = "mail_trial_to"
LONGEST_TEST_ADDRESS = 320


def mail_set_up_url(account: Model | None = None) -> str:
    """Return the set-up page's URL, with one account highlighted."""
    url = reverse(SET_UP_PAGE)
    return f"{url}?account={account.pk}#account-{account.pk}" if account else url


def describe_account(account: Account) -> Part:
    newsletters = newsletters_of(account)
    none = "None yet: choose it in a newsletter's form, under “How it travels”."
    lane = Lane.objects.filter(kind=EMAIL, account=account.name).first()
    return Facts(
        ("Server", server_of(account)),
        ("Sender", usual_sender(account.name)),
        ("Default", ("Yes. " if account.is_default else "No. ", Link(mail_set_up_url(), "Email set-up"))),
        ("Tried", trial_words(account)),
        ("Newsletters", listed(Link(row) for row in newsletters) or none),
        ("Added", when(account.created_at)),
        ("Webhook", refused_call_words(known_target(account))),
        ("Limits and use", lane and Link(lane, "Its lane")),
        ("Last error", lane and lane.last_error),
    )


def trial_words(account: Account) -> str:
    if account.tried_at is None:
        return "Not yet."
    said = account.trouble or "the test email was accepted."
    return f"{when(account.tried_at)}: {said}"


def refused_call_words(target: object) -> str:
    """Describe the service's last refused webhook call, if any."""
    refused = last_refused_call(target.esp) if isinstance(target, EspSettings) else None
    return f"A call of {when(refused[0])} was refused. {refused[1]}" if refused else ""


@admin.register(Account)
class AccountAdmin(ServiceAdmin):
    list_display = ("name", "server", "default", "used_by", "added")
    search_fields = ("name",)
    empty = EmptyList(
        "No email accounts yet",
        "Emails are sent through an account of an email provider or service. For "
        "twenty of them you only enter the user name and password.",
        "Set up email",
        "mail_set_up",
    )
    own_panels = (Panel("Status", describe_account, order=10),)
    own_actions = actions_of(accounts)
    added = moment_of("created_at", "added")
    server = column("server", server_of)
    default = column("default", lambda account: account.is_default, boolean=True)
    used_by = column("newsletters", lambda account: ", ".join(map(str, newsletters_of(account))) or "–")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Account]":
        return Account.objects.mail()

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.has_add_permission(request) and "provider" not in request.GET:
            # The provider determines the fields.
            return HttpResponseRedirect(f"{mail_set_up_url()}?add#add")
        answer: HttpResponse = super().add_view(request, *args, **kwargs)
        return answer

    def get_form(
        self, request: HttpRequest, obj: Account | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        made = super().get_form(request, obj, change=change, form=_form(request, obj), **kwargs)
        if provider := _provider(request, obj):
            # Form classes share field objects.
            made.base_fields = deepcopy(made.base_fields)
            hints = {"user": provider.user, "password": f"{provider.proof} {STORED}"}
            for name, text in hints.items():
                field = made.base_fields[name]
                field.help_text = field.help_text if obj and name == "password" else text
        return made

    def get_fieldsets(self, request: HttpRequest, obj: Account | None = None) -> Any:
        provider, form = _provider(request, obj), _form(request, obj)
        sets: list[tuple[str | None, dict[str, Any]]] = [
            (title, {"fields": names}) for title, names in form.rows
        ]
        sets[0] = (provider.name if provider else form.title, sets[0][1])
        if provider:
            sets[0][1]["description"] = format_html(
                '{} <a class="fl-link fl-underlined" href="{}" rel="noopener noreferrer">{}</a>',
                provider.note,
                provider.link,
                "Help of the provider",
            )
        if obj is None:
            sets.append(("Its name here", {"fields": ("name",)}))
        return sets

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return initial_of(request.GET.get("provider", ""))

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        given = {"url": form.cleaned_data["url"], "sender": form.cleaned_data["sender"]}
        if change:
            alter_account(account=obj, **given)
        else:
            made = add_account(name=form.cleaned_data["name"], **given)
            obj.pk = made.pk
            obj.refresh_from_db()

    def response_add(self, request: HttpRequest, obj: Model, *args: Any, **kwargs: Any) -> HttpResponse:
        messages.success(request, f"{obj} was added. Now test it.")
        return HttpResponseRedirect(mail_set_up_url(obj))

    def response_change(self, request: HttpRequest, obj: Model) -> HttpResponse:
        messages.success(request, f"{obj} was changed. Now test it.")
        return HttpResponseRedirect(mail_set_up_url(obj))


def _form(request: HttpRequest, account: Account | None) -> type[AccountForm]:
    target = known_target(account) if account else None
    esp = target.esp if isinstance(target, EspSettings) else request.GET.get("provider", "")
    return service_form(esp) if esp in SERVICES else ServerForm


def _provider(request: HttpRequest, account: Account | None) -> Provider | None:
    if account is None:
        return PROVIDERS.get(request.GET.get("provider", ""))
    target = known_target(account)
    return provider_of(target.host) if isinstance(target, SmtpSettings) else None


@opens_for(lambda user: bool(user.has_perm(MAY_SEE)))
def mail_set_up(request: HttpRequest) -> HttpResponse:
    """Show on GET; act and redirect on POST, so that reloading repeats nothing."""
    if request.method == "POST":
        return _acted(request)
    address = request.session.get(TEST_ADDRESS) or getattr(request.user, "email", "")
    chosen = request.GET.get("account", "")
    rows = Account.objects.mail().order_by("-is_default", "name")
    shown = [_shown(row, is_chosen=str(row.pk) == chosen) for row in rows]
    may_add = request.user.has_perm(MAY_ADD)
    context = {
        "title": "Email set-up",
        "now": where_letters_go(),
        "given": "EMAIL_URL" in settings.GIVEN,
        "keeps": keeps_letters(),
        "may_keep": settings.EMAIL_URL.startswith("mailbox:"),
        "has_default": default_account() is not None,
        "sender": usual_sender(),
        "sender_given": "DEFAULT_FROM_EMAIL" in settings.GIVEN,
        "dead_links": settings.SITE_URL if is_private(settings.SITE_HOST) and not keeps_letters() else "",
        "accounts": shown,
        "address": address,
        "may_change": request.user.has_perm(MAY_CHANGE),
        "is_adding": "add" in request.GET or not shown,
        "groups": _groups() if may_add else [],
        "list_url": reverse("admin:delivery_account_changelist"),
    }
    return page(request, "admin/delivery/mail_set_up.html", context)


def _acted(request: HttpRequest) -> HttpResponse:
    require(request.user.has_perm(MAY_CHANGE))
    act = request.POST.get("act", "")
    if act == "keep":
        stop_default()
        messages.success(request, "There is no default account now.")
        return HttpResponseRedirect(mail_set_up_url())
    key = request.POST.get("account", "")
    account = get_object_or_404(Account.objects.mail(), pk=key if key.isdecimal() else None)
    if act == "default":

        def made_default() -> str:
            make_default(account=account)
            return f"{account} is now the default. The next email is sent through it."

        report(request, made_default)
    elif act == "try":
        to = request.POST.get("to", "").strip()[:LONGEST_TEST_ADDRESS]
        request.session[TEST_ADDRESS] = to

        def tried() -> str:
            if try_account(account=account, to=to, now=utcnow()):
                messages.error(request, f"{account} doesn’t work yet. The error is shown below.")
                return ""
            return f"{account} works. Its server accepted a test email to {to}. Check that it arrived."

        report(request, tried)
    return HttpResponseRedirect(mail_set_up_url(account))


def where_letters_go() -> str:
    if "EMAIL_URL" in settings.GIVEN:
        wins = (
            "EMAIL_URL is set in the environment and overrides the choice here. To "
            "choose here, remove it there and restart Feedletter."
        )
        if settings.EMAIL_URL.startswith("mailbox:"):
            return f"Emails are kept in the mailbox here and not sent, because EMAIL_URL is mailbox:. {wins}"
        try:
            target = parse_email_url(settings.EMAIL_URL)
            refused = refused_call_words(target)
            return f"Emails are sent through {way_in_words(target)}. {wins} {refused}".rstrip()
        except ImproperlyConfigured as error:
            return f"{error} {wins}"
    account = default_account()
    if account is not None:
        return f"Emails are sent through {account} ({server_of(account)})."
    if keeps_letters():
        return "Emails are kept in the mailbox here and not sent until you set up email."
    return "No email is sent until you set up email."


def _shown(account: Account, *, is_chosen: bool) -> dict[str, Any]:
    """Return an account for the page. `next` is the suggested step: try, change or default."""
    if account.tried_at is None:
        tried, tone, following = "Not tested yet.", "wait", "try"
    elif account.trouble:
        tried, tone, following = account.trouble, "bad", "change"
    else:
        following = "" if account.is_default else "default"
        tried, tone = f"Works: a test email was accepted on {when(account.tried_at)}.", "good"
    return {
        "account": account,
        "is_carrying": account.is_default and "EMAIL_URL" not in settings.GIVEN,
        "server": server_of(account),
        "sender": usual_sender(account.name) if not account.is_default else usual_sender(),
        "newsletters": ", ".join(str(row) for row in newsletters_of(account)),
        "tried": tried,
        "tone": tone,
        "next": following,
        "is_chosen": is_chosen,
        "change_url": object_url(account),
    }


def _groups() -> list[tuple[str, str, list[tuple[str, str]]]]:
    def form(provider: str) -> str:
        return add_url(Account, provider=provider)

    mailboxes = [(each.name, form(key)) for key, each in PROVIDERS.items()]
    services = sorted((each.name, form(key)) for key, each in SERVICES.items())
    return [
        ("A mailbox you have", "Enough for a few hundred emails a day.", mailboxes),
        (
            "A mail service",
            "For many subscribers. Accepts emails over its API and reports bounces.",
            services,
        ),
        (
            "Another server",
            "Your own server, or one of your company or hosting provider.",
            [("Any SMTP server", form("other"))],
        ),
    ]
