"""Admin pages of service accounts, such as bots shared by many destinations."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest

from common.admin.html import column, moment_of, when
from common.admin.model_admin import ServiceAdmin, StyledForm
from common.admin.page_words import EmptyList
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Facts, Link, Part, listed
from common.ports.channels import Field, InvalidDestination
from common.ports.panels import Panel
from common.text import pluralize
from delivery.accounts.accounts import (
    account_specs,
    add_service_account,
    alter_service_account,
    destinations_of_account,
    kind_of_account,
    kinds_with_accounts,
    newsletters_of_account,
    stored_values,
)
from delivery.admin.mail.account_forms import KEPT
from delivery.models import ServiceAccount
from delivery.resources.accounts import service_accounts
from subscriptions.forms.admin import filled, form_field, name_of

SHOWN = 20


def describe_service_account(account: ServiceAccount) -> Part:
    used = listed(Link(row) for row in destinations_of_account(account)[:SHOWN])
    sends = listed(Link(row) for row in newsletters_of_account(account)[:SHOWN])
    return Facts(
        ("Service", service_of(account)),
        ("Connected as", account.label or "not asked so far"),
        ("Asked last", when(account.tried_at, "not yet")),
        ("Newsletters", sends) if sends else ("Posts to", used or "nothing so far"),
        ("Added", when(account.created_at)),
    )


def used_by(account: ServiceAccount) -> str:
    if places := destinations_of_account(account).count():
        return pluralize(places, "place")
    newsletters = newsletters_of_account(account).count()
    return pluralize(newsletters, "newsletter") if newsletters else "–"


def service_of(account: ServiceAccount) -> str:
    labels = {kind.key: kind.label for kind in account_specs()}
    return labels.get(account.kind, account.kind)


class ServiceAccountForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    """New account. Use `account_form`, which adds the services' fields."""

    service = forms.ChoiceField(
        label="Service", choices=lambda: [(kind.key, kind.label) for kind in kinds_with_accounts()]
    )

    class Meta:
        model = ServiceAccount
        fields = ("name",)
        help_texts = {"name": "Bridges name it so, such as news-bot. It can’t be changed later."}  # noqa: RUF012


class SecretsForm(forms.ModelForm):  # type: ignore[type-arg]
    """Existing account: name and service are fixed."""

    class Meta:
        model = ServiceAccount
        fields = ()


def account_form(account: ServiceAccount | None) -> Any:
    """Build a form with the fields of all services, or of an existing account's."""
    stored = stored_values(account) if account is not None else {}
    made = {}
    for name, field in asked_fields(account):
        made[name] = form_field(field)
        if account is not None and field.secret:
            made[name].help_text = KEPT
        elif account is not None:
            made[name].initial = stored.get(field.name, "")
    usual = ServiceAccountForm if account is None else SecretsForm
    return type("AccountForm", (usual,), made)


def asked_fields(account: ServiceAccount | None) -> Iterator[tuple[str, Field]]:
    """Yield form names and fields. A new account shows those for the chosen service."""
    for kind in kinds_with_accounts():
        for field in kind.account_fields if account is None or account.kind == kind.key else ():
            yield (name_of(kind, field) if account is None else f"own_{field.name}"), field


@admin.register(ServiceAccount)
class ServiceAccountAdmin(ServiceAdmin):
    list_display = ("name", "service", "known_as", "used_by", "added")
    search_fields = ("name", "label")
    shown_after_adding = True
    empty = EmptyList(
        "No accounts of services so far",
        "Some services have one account for many bridges, such as a bot that is in several chats, or for the"
        " text messages of several newsletters. Its token is kept here, once.",
        "Add an account",
        "admin:delivery_serviceaccount_add",
    )
    own_panels = (Panel("Status", describe_service_account, order=10),)
    own_actions = actions_of(service_accounts)
    added = moment_of("created_at", "added")
    service = column("service", service_of)
    used_by = column("used by", used_by)
    known_as = column("connected as", lambda account: account.label, ordering="label")

    @property
    def conditional_fields(self) -> dict[str, str]:
        return {
            name_of(kind, field): f"service == '{kind.key}'"
            for kind in kinds_with_accounts()
            for field in kind.account_fields
        }

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = {"form": account_form(obj)}
        return super().get_form(request, obj, change=change, **{**form, **kwargs})

    def get_fieldsets(self, request: HttpRequest, obj: ServiceAccount | None = None) -> Any:
        names = tuple(name for name, _ in asked_fields(obj))
        return ((None, {"fields": names if obj is not None else ("service", "name", *names)}),)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"service": request.GET.get("kind", "")}

    def save_model(self, request: HttpRequest, obj: ServiceAccount, form: Any, change: bool) -> None:
        data = form.cleaned_data
        try:
            if change:
                values = {field.name: data[name] for name, field in asked_fields(obj)}
                alter_service_account(account=obj, values=values, now=utcnow())
            else:
                kind = kind_of_account(data["service"])
                values = filled(kind, kind.account_fields, data)
                made = add_service_account(kind=kind.key, name=data["name"], values=values, now=utcnow())
                obj.pk, obj.kind, obj.label = made.pk, made.kind, made.label
        except InvalidDestination as error:
            prefix = "own" if change else data["service"]
            raise forms.ValidationError(at_field(form, prefix, str(error))) from error
        messages.success(request, f"Connected as {obj.label or obj}.")


def at_field(form: Any, prefix: str, text: str) -> Any:
    """Return a refusal for the form field it names, else for the form."""
    name, colon, rest = text.partition(": ")
    at = f"{prefix}_{name}".replace("-", "_")
    if colon and at in form.fields:
        return {at: rest[:1].upper() + rest[1:]}
    return text
