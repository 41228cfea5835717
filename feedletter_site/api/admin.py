from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator

from common.admin.html import column, moment_of, page, when
from common.admin.model_admin import ServiceAdmin, StyledForm
from common.admin.page_words import EmptyList, PageWords, nobody_may
from common.admin.resources import actions_of
from common.api.permissions import TOKEN_SCOPES, may_hand_on
from common.clock import utcnow
from common.parts import Facts, Part, listed
from common.ports.panels import Panel
from feedletter_site.api_urls import router
from feedletter_site.models import ApiToken
from feedletter_site.resources import api_tokens
from feedletter_site.services.tokens import make_token, why_not
from reader.pages.access import confirmed

LIFETIMES = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "until it is revoked"))


def scopes_for(user: Any) -> list[tuple[str, str]]:
    """Return the scopes within the user's permissions."""
    views: list[Any] = [view for _, view, _ in router.registry]
    allowed = []
    for scope, meaning in TOKEN_SCOPES.items():
        area, _, verb = scope.partition(":")
        if all(may_hand_on(user, view, verb) for view in views if view.area == area):
            allowed.append((scope, f"{scope} – {meaning}"))
    return allowed


class TokenForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ApiToken
        fields = ("name",)

    scopes = forms.MultipleChoiceField(
        label="It may",
        widget=forms.CheckboxSelectMultiple,
        help_text="Choose as few as it needs. Writing includes reading.",
    )
    lifetime = forms.ChoiceField(label="Good for", choices=LIFETIMES, required=False, initial="90")


def about(token: ApiToken) -> Part:
    return Facts(
        ("Key", f"fl_{token.prefix}_…"),
        ("May", listed(token.scopes)),
        ("Made", when(token.created_at)),
        ("By", token.made_by or "a command"),
        ("Last used", when(token.last_used_at, "Not yet.")),
        ("Expires", when(token.expires_at, "Never.")),
        ("Status", why_not(token, now=utcnow()) or "Valid."),
    )


@admin.register(ApiToken)
@method_decorator(confirmed(bool), name="changeform_view")
class ApiTokenAdmin(ServiceAdmin):
    list_display = ("name", "begins", "opens", "made", "last_used", "shown_standing")
    list_select_related = ("made_by",)
    search_fields = ("name", "prefix")
    empty = EmptyList(
        "No tokens so far",
        "A token lets another program use the API, for example to see subscribers or create newsletters."
        " It can do what you choose, but no more than you can.",
        "Create a token",
        "admin:feedletter_site_apitoken_add",
    )
    own_panels = (Panel("About it", about, order=10),)
    own_actions = actions_of(api_tokens)
    # Deleting a token deletes nothing else.
    has_delete_permission = PageWords.has_delete_permission
    # Tokens are immutable.
    has_change_permission = nobody_may
    made = moment_of("created_at", "made")
    last_used = moment_of("last_used_at", "last used", "not yet")
    begins = column("key begins", lambda token: f"fl_{token.prefix}…")
    opens = column("may", lambda token: ", ".join(token.scopes))
    shown_standing = column(
        "standing",
        lambda token: ("over", "over") if why_not(token, now=utcnow()) else ("good", "good"),
        label={"good": "success", "over": "danger"},
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is not None:
            return super().get_form(request, obj, change=change, **kwargs)
        form = super().get_form(request, obj, change=change, form=TokenForm, **kwargs)
        form.base_fields["scopes"].choices = scopes_for(request.user)
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is not None else ((None, {"fields": ("name", "scopes", "lifetime")}),)

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        days, now = form.cleaned_data["lifetime"], utcnow()
        made, key = make_token(
            name=obj.name,
            scopes=form.cleaned_data["scopes"],
            now=now,
            expires_at=now + timedelta(days=int(days)) if days else None,
            made_by=request.user,
        )
        obj.pk, obj.prefix, obj.expires_at = made.pk, made.prefix, made.expires_at
        request.made_key = key  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the key in the response: a message would be stored in a cookie or session."""
        context = {
            "title": "API token",
            "opts": self.opts,
            "token": obj,
            "key": request.made_key,  # type: ignore[attr-defined]
            "expires_at": obj.expires_at,
            "back": reverse("admin:feedletter_site_apitoken_changelist"),
        }
        return page(request, "admin/feedletter_site/apitoken/made.html", context)

    def has_act_permission(self, request: HttpRequest) -> bool:
        return self._has(request, "change")
