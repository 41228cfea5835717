"""The pages of mail accounts."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget

from common.admin.html import facts, link_to, listed, moment_of, when
from common.admin.model_admin import ServiceAdmin
from common.ports.panels import Action, CannotAct, Panel
from common.text import counted
from delivery.accounts.accounts import (
    EMAIL,
    add_account,
    alter_account,
    drop_account,
    newsletters_of,
    server_of,
    try_login,
    why_needed,
)
from delivery.channels.email.session import CannotLogIn
from delivery.models import Account, Lane

URL_HELP = (
    "As EMAIL_URL: smtps://user:password@host:465, smtp+starttls://user:password@host:587, or a mail"
    " service's, such as anymail+mailgun://KEY@domain. It is stored encrypted and never shown again."
)


def describe_account(account: Account) -> SafeString:
    newsletters = newsletters_of(account)
    none = "None yet: choose it in a newsletter's form, under “How it travels”."
    rows: list[tuple[str, Any]] = [
        ("Server", server_of(account)),
        ("Newsletters", listed(link_to(row) for row in newsletters) or none),
        ("Added", when(account.created_at)),
    ]
    if lane := Lane.objects.filter(kind=EMAIL, account=account.name).first():
        rows.append(("Limits and use", link_to(lane, "Its lane")))
        if lane.last_error:
            rows.append(("What was wrong last", lane.last_error))
    return facts(rows)


def try_logins(request: HttpRequest, keys: list[int]) -> str:
    """Asks each server; what one says against it is told, and stops no other."""
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
    return f"{counted(len(rows), 'mail account')} deleted."


def asked_to_delete_accounts(keys: list[int]) -> list[str]:
    rows = Account.objects.filter(pk__in=keys)
    return [why_needed(row) or f"{row} and its password will be forgotten. Nothing uses it." for row in rows]


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]
    """Name and URL; the service checks both, and nothing shows the URL again."""

    url = forms.CharField(
        label="URL",
        max_length=4096,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=URL_HELP,
    )

    class Meta:
        model = Account
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.fields["url"].label = "Another URL"


@admin.register(Account)
class AccountAdmin(ServiceAdmin):
    form = AccountForm
    list_display = ("name", "server", "used_by", "added")
    search_fields = ("name",)
    shown_after_adding = True
    own_panels = (Panel("How it goes", describe_account, order=10),)
    own_actions = (
        Action("log_in", "Try the login", try_logins),
        Action("delete", "Delete", delete_accounts, asked_to_delete_accounts, permission="drop"),
    )
    added = moment_of("created_at", "added")

    def get_fieldsets(self, request: HttpRequest, obj: Account | None = None) -> Any:
        return ((None, {"fields": ("url",) if obj else ("name", "url")}),)

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        if change:
            alter_account(account=obj, url=form.cleaned_data["url"])
            return
        made = add_account(name=form.cleaned_data["name"], url=form.cleaned_data["url"])
        obj.pk = made.pk
        obj.refresh_from_db()
        messages.success(request, "The account was added. Now try the login.")

    def save_related(self, *args: Any) -> None:
        """There is nothing besides what the service saved."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="server")
    def server(self, account: Account) -> str:
        return server_of(account)

    @display(description="newsletters")
    def used_by(self, account: Account) -> str:
        return ", ".join(str(row) for row in newsletters_of(account)) or "–"
