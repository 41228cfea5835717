"""Admin pages of DKIM keys, and the page “Mail check”."""

from itertools import groupby
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import BooleanFieldListFilter, ChoicesFieldListFilter
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from channels.email.address import parse_address
from common.access import opens_for
from common.admin.html import column, moment_of, page, when
from common.admin.lists import asks
from common.admin.model_admin import ServiceAdmin, StyledForm
from common.admin.page_words import EmptyList, nobody_may
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Button, Code, Dot, Facts, Part, Text
from common.ports.channels import InvalidDestination
from common.ports.panels import Panel
from delivery.accounts.accounts import usual_sender
from delivery.accounts.dkim_keys import make_key
from delivery.doctor.check import DoctorReport, check_mail, look_up
from delivery.doctor.findings import DoctorVerdict
from delivery.models import DkimKey
from delivery.resources.dkim_keys import dkim_keys
from subscriptions.models import Subscribable

STANDING = {
    "active": "Signs emails from this domain, and from subdomains without a key.",
    "waiting": "Not used yet. Publish the record below, then choose “Start signing”.",
    "retired": "Retired. Keep its record for a week, because emails may still be in transit.",
}
KEY_COLOURS = {"active": "success", "waiting": "warning"}
MAY_CHECK = "delivery.view_lane"
VERDICT_TONES = {DoctorVerdict.GOOD: "good", DoctorVerdict.BETTER: "wait", DoctorVerdict.WRONG: "bad"}
VERDICT_WORDS = {
    DoctorVerdict.GOOD: "Good",
    DoctorVerdict.BETTER: "Could be better",
    DoctorVerdict.WRONG: "Wrong",
}


def describe_key(key: DkimKey) -> Part:
    return Facts(
        ("Domain", key.domain),
        ("Selector", key.selector),
        ("Algorithm", key.get_algorithm_display()),
        ("Made", when(key.created_at)),
        ("State", STANDING[key.state]),
        ("Retired", when(key.retired_at, "")),
    )


def in_the_dns(key: DkimKey) -> Part:
    """Look up in DNS whether the record is published; "" for retired keys."""
    if key.retired_at:
        return ""
    found = look_up(key)
    return Text((Dot(VERDICT_TONES[found.verdict]), found.says), "sentence")


def dns_record(key: DkimKey) -> Part:
    """Show the record in parts that a click selects."""
    return (
        f"Publish this where the DNS of {key.domain} is kept; without it no signature counts. Type: TXT."
        " Name:",
        Code(key.record.name, is_copied=True),
        "Value:",
        Code(key.record.value, is_copied=True),
        "Or, for a zone file, where a string has 255 characters at most:",
        Code(key.record.zone_line, is_copied=True),
    )


class NewKeyForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    """The key itself is generated here and never shown."""

    domain = forms.CharField(
        max_length=253, help_text="The part after the @ of the sender, for example example.org."
    )
    algorithm = forms.ChoiceField(
        choices=DkimKey.Algorithm,
        help_text=("RSA (2048 bits) is supported everywhere. You can add a second key with Ed25519."),
    )
    selector = forms.CharField(
        max_length=100,
        required=False,
        help_text=("Name of the key in the DNS. Leave empty for “feedletter”, or the next free name."),
    )

    class Meta:
        model = DkimKey
        fields = ("domain", "algorithm", "selector")

    def _post_clean(self) -> None:
        """The service validates."""


@admin.register(DkimKey)
class DkimKeyAdmin(ServiceAdmin):
    list_display = ("selector", "domain", "algorithm", "shown_state", "made")
    list_filter = (
        ("active", asks("Which sign now?", BooleanFieldListFilter)),
        ("algorithm", asks("Of which algorithm?", ChoicesFieldListFilter)),
    )
    empty = EmptyList(
        "No keys yet",
        "A DKIM key signs your emails, so that email providers can verify that they’re yours. Most email"
        " services sign emails automatically. If you use your own server, create a key here.",
        "Create key",
        "admin:delivery_dkimkey_add",
    )
    search_fields = ("domain", "selector")
    shown_after_adding = True
    own_panels = (
        Panel("The key", describe_key, order=10),
        Panel("In the DNS", in_the_dns, order=15),
        Panel("The DNS record", dns_record, order=20),
    )
    own_actions = actions_of(dkim_keys)
    # Keys can't be edited; they are made, activated and retired.
    has_change_permission = nobody_may
    made = moment_of("created_at", "made")
    shown_state = column("state", lambda key: key.state, label=KEY_COLOURS)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = {} if obj else {"form": NewKeyForm}
        return super().get_form(request, obj, change=change, **form, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj else ((None, {"fields": ("domain", "algorithm", "selector")}),)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        try:
            domain = parse_address(usual_sender()).domain
        except InvalidDestination:  # without a real host name there is nowhere to publish a record
            domain = ""
        return {"domain": domain, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: DkimKey, form: Any, change: bool) -> None:
        made = make_key(**form.cleaned_data, now=utcnow())
        obj.pk = made.pk
        obj.refresh_from_db()
        messages.success(request, "The key was created. Now publish its record.")


def senders() -> list[tuple[str, str]]:
    rows = Subscribable.objects.filter(channel="email").order_by("name")
    return [("", "all"), *((row.name, str(row)) for row in rows)]


class MailCheckForm(StyledForm, forms.Form):
    newsletter = forms.ChoiceField(
        required=False, choices=senders, help_text="All senders, or the sender of one newsletter."
    )
    sending_address = forms.GenericIPAddressField(
        required=False,
        label="Emails are sent from",
        help_text="Only needed if your mail server is behind a router. Its public IP address.",
    )


@opens_for(lambda user: bool(user.has_perm(MAY_CHECK)))
def mail_check(request: HttpRequest) -> HttpResponse:
    """Ask whose mail to check, and check it if the button was pressed. Nothing is changed."""
    is_asked = "check" in request.GET
    form = MailCheckForm(request.GET if is_asked else None, initial=request.GET.dict())
    context: dict[str, Any] = {"title": "Mail check", "form": form}
    if is_asked and form.is_valid():
        report = check_mail(now=utcnow(), **form.cleaned_data)
        context.update(report=report, groups=grouped(report))
    return page(request, "admin/delivery/mail_check.html", context)


def grouped(report: DoctorReport) -> list[tuple[str, list[dict[str, Any]]]]:
    return [
        (
            about,
            [
                {"finding": each, "tone": VERDICT_TONES[each.verdict], "word": VERDICT_WORDS[each.verdict]}
                for each in findings
            ],
        )
        for about, findings in groupby(report.findings, key=lambda finding: finding.about)
    ]


def offer(subscribable: Subscribable) -> Part:
    """Return a newsletter's link to the check; "" for a bridge."""
    if subscribable.channel != "email":
        return ""
    return (
        "Checks whether the sender, return address and mail server of this newsletter are set up so that"
        " emails arrive.",
        Button(f"{reverse('mail_check')}?newsletter={subscribable.name}", "Check email"),
    )
