"""Admin pages of mail accounts."""

from copy import deepcopy
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from channels.account import EMAIL
from channels.email.esp.settings import EspSettings
from channels.email.session import CannotLogIn
from channels.email.smtp_login import SmtpSettings
from common.admin.html import facts, link_to, listed, moment_of, when
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.ports.panels import Action, CannotAct, Panel
from common.text import pluralize
from delivery.accounts.accounts import (
    add_account,
    alter_account,
    drop_account,
    newsletters_of,
    server_of,
    try_login,
    usual_sender,
    why_needed,
)
from delivery.accounts.providers import PROVIDERS, Provider, provider_of
from delivery.accounts.services import last_refused_call
from delivery.admin.mail.account_forms import AccountForm, form_for, hints_of, initial_of, known_target
from delivery.models import Account, Lane

SET_UP_PAGE = "mail_set_up"


def mail_set_up_url(account: Model | None = None) -> str:
    """Return the set-up page's URL, with one account highlighted."""
    url = reverse(SET_UP_PAGE)
    return f"{url}?account={account.pk}#account-{account.pk}" if account else url


def describe_account(account: Account) -> SafeString:
    newsletters = newsletters_of(account)
    none = "None yet: choose it in a newsletter's form, under “How it travels”."
    default = format_html(
        '{} <a class="fl-link" href="{}">Email set-up</a>',
        "Yes." if account.is_default else "No.",
        mail_set_up_url(),
    )
    rows: list[tuple[str, Any]] = [
        ("Server", server_of(account)),
        ("Sender", usual_sender(account.name)),
        ("Default", default),
        ("Tried", trial_words(account)),
        ("Newsletters", listed(link_to(row) for row in newsletters) or none),
        ("Added", when(account.created_at)),
    ]
    if refused := refused_call_words(known_target(account)):
        rows.append(("Webhook", refused))
    if lane := Lane.objects.filter(kind=EMAIL, account=account.name).first():
        rows.append(("Limits and use", link_to(lane, "Its lane")))
        if lane.last_error:
            rows.append(("Last error", lane.last_error))
    return facts(rows)


def trial_words(account: Account) -> str:
    if account.tried_at is None:
        return "Not yet."
    said = account.trouble or "the test email was accepted."
    return f"{when(account.tried_at)}: {said}"


def refused_call_words(target: object) -> str:
    """Describe the service's last refused webhook call, if any."""
    refused = last_refused_call(target.esp) if isinstance(target, EspSettings) else None
    return f"A call of {when(refused[0])} was refused. {refused[1]}" if refused else ""


def try_logins(request: HttpRequest, keys: list[int]) -> str:
    """Test each login; report errors without stopping."""
    said = []
    for account in Account.objects.filter(pk__in=keys):
        try:
            said.append(try_login(account))
        except CannotLogIn as error:
            messages.error(request, f"{account}: {error}")
    return " ".join(said)


def delete_accounts(request: HttpRequest, keys: list[int]) -> str:
    rows = list(Account.objects.filter(pk__in=keys))
    needed = [reason for reason in map(why_needed, rows) if reason]
    if needed:
        raise CannotAct(" ".join(needed))
    for row in rows:
        drop_account(account=row)
    return f"{pluralize(len(rows), 'mail account')} deleted."


def asked_to_delete_accounts(keys: list[int]) -> list[str]:
    rows = Account.objects.filter(pk__in=keys)
    return [why_needed(row) or f"{row} and its password will be deleted. Nothing uses it." for row in rows]


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
        "delivery.add_account",
    )
    own_panels = (Panel("Status", describe_account, order=10),)
    own_actions = (
        Action("log_in", "Test sign-in", try_logins),
        Action("delete", "Delete", delete_accounts, asked_to_delete_accounts, permission="drop"),
    )
    added = moment_of("created_at", "added")

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
            for name, text in hints_of(provider).items():
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

    @display(description="server")
    def server(self, account: Account) -> str:
        return server_of(account)

    @display(description="default", boolean=True)
    def default(self, account: Account) -> bool:
        return account.is_default

    @display(description="newsletters")
    def used_by(self, account: Account) -> str:
        return ", ".join(str(row) for row in newsletters_of(account)) or "–"


def _form(request: HttpRequest, account: Account | None) -> type[AccountForm]:
    return form_for(request.GET.get("provider", ""), account)


def _provider(request: HttpRequest, account: Account | None) -> Provider | None:
    if account is None:
        return PROVIDERS.get(request.GET.get("provider", ""))
    target = known_target(account)
    return provider_of(target.host) if isinstance(target, SmtpSettings) else None
