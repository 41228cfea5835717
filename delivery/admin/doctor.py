"""Page “Mail check”: checks of deliverability on demand."""

from itertools import groupby
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.admin.html import button
from common.clock import utcnow
from delivery.doctor.check import DoctorReport, check_mail
from delivery.doctor.findings import DoctorVerdict
from subscriptions.models import Subscribable

MAY_CHECK = "delivery.view_lane"
VERDICT_TONES = {DoctorVerdict.GOOD: "good", DoctorVerdict.BETTER: "wait", DoctorVerdict.WRONG: "bad"}
VERDICT_WORDS = {
    DoctorVerdict.GOOD: "Good",
    DoctorVerdict.BETTER: "Could be better",
    DoctorVerdict.WRONG: "Wrong",
}


class MailCheckForm(forms.Form):
    newsletter = forms.ChoiceField(
        required=False,
        widget=UnfoldAdminSelectWidget(),
        help_text="All senders, or the sender of one newsletter.",
    )
    sending_address = forms.GenericIPAddressField(
        required=False,
        label="Emails are sent from",
        widget=UnfoldAdminTextInputWidget(),
        help_text="Only needed if your mail server is behind a router. Its public IP address.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = Subscribable.objects.filter(channel="email").order_by("name")
        field = self.fields["newsletter"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
        field.choices = [("", "all"), *((row.name, str(row)) for row in rows)]


def mail_check(request: HttpRequest) -> HttpResponse:
    """Ask whose mail to check, and check it if the button was pressed. Nothing is changed."""
    if not request.user.has_perm(MAY_CHECK):
        raise PermissionDenied
    is_asked = "check" in request.GET
    form = MailCheckForm(request.GET if is_asked else None, initial=request.GET.dict())
    context = {**admin.site.each_context(request), "title": "Mail check", "form": form}
    if is_asked and form.is_valid():
        report = check_mail(now=utcnow(), **form.cleaned_data)
        context.update(report=report, groups=grouped(report))
    return TemplateResponse(request, "admin/delivery/mail_check.html", context)


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


def mail_check_url(newsletter: str = "") -> str:
    url = reverse("mail_check")
    return f"{url}?newsletter={newsletter}" if newsletter else url


def offer(subscribable: Subscribable) -> SafeString | str:
    """Return a newsletter's link to the check; "" for a bridge."""
    if subscribable.channel != "email":
        return ""
    return format_html(
        "<p>Checks whether the sender, return address and mail server of this "
        "newsletter are set up so that emails arrive.</p><p>{}</p>",
        button(mail_check_url(subscribable.name), "Check email"),
    )
