from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminIntegerFieldWidget

from common.admin.html import moment_of, page, when
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList, PageWords
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Facts, Link, Part
from common.ports.hooks import site_mail
from common.ports.panels import Panel
from reader.models import Invitation
from reader.people.invitations import MOST_DAYS, USUAL_DAYS, invite, why_over
from reader.resources import invitations

INVITATION_COLOURS = {"open": "success", "used": "info", "over": "danger"}


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Invitation
        fields = ("name", "max_feeds")

    days = forms.IntegerField(
        label="Valid for days",
        initial=USUAL_DAYS,
        min_value=1,
        max_value=MOST_DAYS,
        widget=UnfoldAdminIntegerFieldWidget,
    )
    email = forms.EmailField(
        label="Email it to",
        required=False,
        max_length=254,
        widget=UnfoldAdminEmailInputWidget,
        help_text="Leave empty to send the link yourself.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not site_mail().is_sent():
            del self.fields["email"]


def about_invitation(invitation: Invitation) -> Part:
    return Facts(
        ("For", invitation.name),
        ("Made", when(invitation.made_at)),
        ("By", invitation.made_by or "a command"),
        ("Expires", when(invitation.expires_at)),
        ("Used", when(invitation.used_at, "Not yet.")),
        ("Let in", Link(invitation.reader) if invitation.reader else "–"),
        ("Maximum number of feeds", invitation.max_feeds or "set by READER_MAX_FEEDS"),
        ("Status", why_over(invitation, now=utcnow()) or "Valid."),
    )


@admin.register(Invitation)
class InvitationAdmin(ServiceAdmin):
    list_display = ("name", "standing", "expires", "reader", "made", "made_by")
    list_select_related = ("made_by", "reader")
    search_fields = ("name",)
    empty = EmptyList(
        "No invitations yet",
        "An invitation is a link that lets one person use the reader. Copy the link, or have it emailed.",
        "Invite somebody",
        "admin:reader_invitation_add",
    )
    own_panels = (Panel("About it", about_invitation, order=10),)
    own_actions = actions_of(invitations)
    has_delete_permission = PageWords.has_delete_permission
    made, expires = moment_of("made_at", "made"), moment_of("expires_at", "expires")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = kwargs if obj is not None else {"form": InvitationForm, **kwargs}
        return super().get_form(request, obj, change=change, **form)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        mail = ("email",) if site_mail().is_sent() else ()
        return () if obj is not None else ((None, {"fields": ("name", *mail, "days", "max_feeds")}),)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        return super().add_view(request, form_url, {**(extra_context or {}), "title": "Invite somebody"})

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        typed = form.cleaned_data
        made, link = invite(
            name=obj.name,
            days=typed["days"],
            email=typed.get("email", ""),
            max_feeds=obj.max_feeds,
            made_by=request.user,
            now=utcnow(),
        )
        obj.pk, obj.expires_at = made.pk, made.expires_at
        request.made_link, request.mailed_to = link, typed.get("email", "")  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the link here: a message would be stored in a cookie or the session."""
        context = {
            "title": "Invitation",
            "opts": self.opts,
            "invitation": obj,
            "link": request.made_link,  # type: ignore[attr-defined]
            "mailed_to": request.mailed_to,  # type: ignore[attr-defined]
            "back": reverse("admin:reader_invitation_changelist"),
        }
        return page(request, "admin/reader/invited.html", context)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Revoke it, and make another.
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        return self._has(request, "change")

    @display(description="standing", label=INVITATION_COLOURS)
    def standing(self, invitation: Invitation) -> str:
        if invitation.used_at:
            return "used"
        return "over" if why_over(invitation, now=utcnow()) else "open"
