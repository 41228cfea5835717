"""The pages of addresses, and of the addresses that must not be written to."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget

from common.admin.html import facts, html_table, link_to, moment_of, when
from common.admin.model_admin import ReadOnlyAdmin, ServiceAdmin
from common.ports import channels
from common.ports.panels import Action, Panel
from common.text import counted
from subscriptions.admin.erasing import ERASE
from subscriptions.models import Destination, Suppression
from subscriptions.subscribers.suppression import lift


def about_address(destination: Destination) -> SafeString:
    rows = [
        ("Channel", destination.kind),
        ("Address", destination.core),
        ("Added", when(destination.added_at)),
    ]
    if destination.disabled_at:
        rows.append(("Disabled", when(destination.disabled_at)))
        rows.append(("Why", destination.disabled_reason or "Not said."))
    return facts(rows)


def wanted(destination: Destination) -> SafeString:
    rows = destination.subscriptions.select_related("subscribable").order_by("pk")
    return html_table(
        ("newsletter", "status", "since"),
        (
            (link_to(row, row.subscribable), row.get_status_display(), when(row.confirmed_at or row.added_at))
            for row in rows
        ),
        "No newsletter.",
    )


def enable_addresses(request: HttpRequest, keys: list[int]) -> str:
    disabled = Destination.objects.filter(pk__in=keys, disabled_at__isnull=False, erased_at=None)
    count = disabled.update(disabled_at=None, disabled_reason="")
    return f"{counted(count, 'address', 'addresses')} may be written to again."


@admin.register(Destination)
class DestinationAdmin(ReadOnlyAdmin):
    list_display = ("label", "kind", "added", "disabled")
    list_filter = ("kind",)
    search_fields = ("core", "label")
    own_panels = (Panel("About it", about_address, order=10), Panel("What they get", wanted, order=20))
    own_actions = (
        Action(
            "enable", "Enable again", enable_addresses, fits=lambda row: row.disabled_at and not row.erased_at
        ),
        ERASE,
    )
    added = moment_of("added_at", "added")
    disabled = moment_of("disabled_at", "disabled")


class SuppressionForm(forms.ModelForm):  # type: ignore[type-arg]
    """Stores the address as the channel normalises it, or it would match nobody."""

    kind = forms.ChoiceField(label="channel", widget=UnfoldAdminSelectWidget(), initial="email")

    class Meta:
        model = Suppression
        fields = ("kind", "core", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kind"].choices = [(kind.key, kind.label) for kind in channels.all_kinds()]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("kind") == "email" and data.get("core"):
            try:
                data["core"] = channels.get("email").parse_destination({"email": data["core"]}).core
            except channels.InvalidDestination as error:
                self.add_error("core", str(error))
        return data


def may_be_written_to(request: HttpRequest, keys: list[int]) -> str:
    count = lift(suppressions=Suppression.objects.filter(pk__in=keys))
    return f"{counted(count, 'address', 'addresses')} may be written to again."


@admin.register(Suppression)
class SuppressionAdmin(ServiceAdmin):
    form = SuppressionForm
    list_display = ("core", "kind", "reason", "since")
    search_fields = ("core", "reason")
    list_filter = ("kind",)
    own_actions = (Action("lift", "May be written to again", may_be_written_to, permission="drop"),)
    since = moment_of("created_at", "since")
