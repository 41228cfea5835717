from collections.abc import Callable
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django import forms
from django.contrib import admin, messages
from django.contrib.admin import BooleanFieldListFilter, RelatedFieldListFilter
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.decorators import action, display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import (
    UnfoldAdminEmailInputWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelect2MultipleWidget,
)

from common.admin.html import brief, column, list_url, page
from common.admin.lists import asks
from common.admin.model_admin import ServiceAdmin, StyledForm
from common.admin.page_words import EmptyList, PageWords, nobody_may, words_of
from common.admin.refusals import add_refusal
from common.clock import utcnow
from common.optional_apps import is_on
from common.ports.panels import Action
from common.refused import Refused
from delivery.accounts.accounts import keeps_letters
from feedletter_site.models import Member
from feedletter_site.sign_in.setup import FITS_NAME
from feedletter_site.team.people import (
    EVERYTHING,
    INVITED_FOR_DAYS,
    give_role,
    invite,
    role_of_user,
    send_again,
    withdraw,
)
from reader.models import Reader
from reader.pages.access import confirmed
from subscriptions.models import Subscribable

admin.site.unregister((User, Group))
words_of(User, "user", "team")

ROLES = {
    "editor": "Editor: content and subscribers",
    "sender": "Sender: also approves and sends",
    EVERYTHING: "Everything: also settings and people",
}
ROLE_WORDS = {**ROLES, "": "Own permissions"}
OWN = {"": "None: only permissions under Advanced"}
NEW_USER = ("username", "email", "usable_password", "password1", "password2", "is_staff")
USER_LABELS = {"is_active": "May sign in", "is_staff": "May open this admin"}
USER_HELP = {
    "username": "",
    "is_active": "Switch it off instead of deleting somebody.",
    "is_staff": "Needed for every role.",
    "groups": "",
}


class RoleFields(StyledForm, forms.Form):
    role = forms.ChoiceField(
        choices=list(ROLES.items()), initial="editor", widget=UnfoldAdminRadioSelectWidget()
    )
    is_limited = forms.BooleanField(
        label="Only some newsletters",
        required=False,
        help_text="They see and open these, with their issues, posts and subscribers.",
    )
    newsletters = forms.ModelMultipleChoiceField(
        Subscribable.objects.order_by("title", "name"), required=False
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("is_limited") and not data.get("newsletters"):
            self.add_error("newsletters", "Choose at least one newsletter.")
        if data.get("is_limited") and data.get("role") not in Member.Role.values:
            self.add_error("is_limited", "Only editors and senders can work for some newsletters only.")
        return data

    @property
    def newsletters_chosen(self) -> list[Subscribable] | None:
        data = self.cleaned_data
        return list(data["newsletters"]) if data["is_limited"] else None


class InviteForm(RoleFields):
    email = forms.EmailField(
        max_length=150, validators=[FITS_NAME], widget=UnfoldAdminEmailInputWidget(attrs={"autofocus": True})
    )
    field_order = ("email",)


class PersonForm(RoleFields, UserChangeForm):  # type: ignore[misc]
    """A form of a superuser for somebody else; others don't see the role."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "role" in self.fields:
            member = getattr(self.instance, "member", None)
            role: Any = self.fields["role"]
            role.choices, role.required = [*ROLES.items(), *OWN.items()], False
            self.initial["role"] = role_of_user(self.instance)
            if member is not None:
                self.initial["is_limited"] = member.is_limited
                self.initial["newsletters"] = member.newsletters.all()


class Chosen(PageWords):
    """filter_horizontal is wider than the page."""

    filter_horizontal = ()

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["widget"] = UnfoldAdminSelect2MultipleWidget()
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        field.help_text = "Type to search. “Can change user” lets its owner become superuser."
        return field


def invitation_action(name: str, title: str, run: Callable[[list[int]], str]) -> Action:
    return Action(name, title, lambda _, keys: run(keys), fits=is_invited, permission="invite")


def is_invited(user: User) -> bool:
    member = getattr(user, "member", None)
    return member is not None and member.expires_at is not None


class IdentityInline(TabularInline):  # type: ignore[misc]
    """Identities of OIDC_URL: shown and deleted."""

    model = SocialAccount
    verbose_name, verbose_name_plural = "identity", "Signs in with OpenID Connect as"
    fields = readonly_fields = ("uid", "date_joined", "last_login")
    extra = 0
    has_add_permission = nobody_may

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("auth.view_user") or request.user.has_perm("auth.change_user")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("auth.change_user")


@admin.register(User)
@method_decorator(confirmed(bool), name="changeform_view")
@method_decorator(confirmed(bool), name="invite")
@method_decorator(confirmed(bool), name="user_change_password")
class UserAdmin(Chosen, ServiceAdmin, DjangoUserAdmin):  # type: ignore[misc,type-arg]
    form = PersonForm
    rows = ("person", "people")
    list_display = ("username", "shown_role", "works_for", "shown_state")
    shown_role = column("role", lambda user: ROLE_WORDS[role_of_user(user)].partition(":")[0])
    actions_list = ("invite",)
    own_actions = (
        invitation_action("send_again", "Send again", lambda keys: send_again(users=keys, now=utcnow())),
        invitation_action("withdraw", "Withdraw", lambda keys: withdraw(users=keys)),
    )
    readonly_fields = ("shown_password", "last_login", "date_joined")
    has_delete_permission = PageWords.has_delete_permission
    save_related = DjangoUserAdmin.save_related
    add_form = UserCreationForm
    # Unfold's empty one would hide Django's. OpenID Connect finds users by email and is_staff.
    add_fieldsets = ((None, {"fields": NEW_USER}),)
    change_password_form = AdminPasswordChangeForm
    list_filter = (
        ("is_staff", asks("Who may open this admin?", BooleanFieldListFilter)),
        ("is_superuser", asks("Who may do everything?", BooleanFieldListFilter)),
        ("is_active", asks("Who may sign in?", BooleanFieldListFilter)),
        ("groups", asks("Which group are they in?", RelatedFieldListFilter)),
    )
    empty = EmptyList("No people", "People sign in to this admin and can do what their role allows.")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[User]":
        rows: QuerySet[User] = super().get_queryset(request)
        return rows.select_related("member").prefetch_related("member__newsletters")

    def has_invite_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    @action(description="Invite somebody", url_path="invite", icon="person_add", permissions=["invite"])
    def invite(self, request: HttpRequest) -> HttpResponse:
        form = InviteForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            data = form.cleaned_data
            try:
                user = invite(
                    email=data["email"], role=data["role"], newsletters=form.newsletters_chosen, now=utcnow()
                )
            except Refused as error:
                add_refusal(form, error)
            else:
                self.log_addition(request, user, "Invited.")
                kept = " It is in the mailbox." if keeps_letters() else ""
                messages.success(
                    request, f"{user.email} is invited. The link works for {INVITED_FOR_DAYS} days.{kept}"
                )
                return HttpResponseRedirect(list_url(User))
        context = {"title": "Invite somebody", "opts": self.opts, "form": form, "back": list_url(User)}
        return page(request, "admin/confirm_action.html", context)

    def sets_role(self, request: HttpRequest, user: Any) -> bool:
        """Nobody changes their own role."""
        return bool(request.user.is_superuser) and user != request.user

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return self.add_fieldsets
        role = ("role", "is_limited", "newsletters") if self.sets_role(request, obj) else ()
        advanced = ("username", "shown_password", "is_active", "is_staff", "groups", "user_permissions")
        return (
            (None, {"fields": ("email", *role)}),
            ("Name", {"fields": ("first_name", "last_name"), "classes": ("collapse",)}),
            ("Advanced", {"fields": (*advanced, "last_login", "date_joined"), "classes": ("collapse",)}),
        )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(
            request, obj, change=change, labels=USER_LABELS, help_texts=USER_HELP, **kwargs
        )
        if obj is not None and not self.sets_role(request, obj):
            for name in RoleFields.base_fields:
                form.base_fields.pop(name, None)
        return form

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "email" in form.changed_data:
            # An invitation to the old address ends.
            Member.objects.filter(user=obj).update(digest="")
        if change and self.sets_role(request, obj) and "role" in form.cleaned_data:
            give_role(user=obj, role=form.cleaned_data["role"], newsletters=form.newsletters_chosen)

    @display(description="password")
    def shown_password(self, user: User) -> SafeString:
        words = "Set" if user.has_usable_password() else "None"
        return format_html('{}. <a class="fl-link" href="../password/">Set another</a>', words)

    @display(description="newsletters")
    def works_for(self, user: User) -> str:
        member = getattr(user, "member", None)
        if user.is_superuser or member is None or not member.is_limited:
            return "all"
        return ", ".join(map(str, member.newsletters.all())) or "none"

    @display(description="last here")
    def shown_state(self, user: User) -> str:
        member = getattr(user, "member", None)
        until = member.expires_at if member is not None else None
        if until is not None:
            return "invitation expired" if until <= utcnow() else f"invited until {brief(until)}"
        return brief(user.last_login, "never") if user.is_active else "switched off"

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return [IdentityInline] if obj and SocialAccount.objects.filter(user=obj).exists() else []

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Require erasing a reader first, instead of listing all they read."""
        users = [user.pk for user in objs]
        if readers := Reader.objects.filter(user__in=users):
            switch_on = "" if is_on("reader") else "switch reading on (READER), then "
            words = f"{{}} reads here: {switch_on}under Readers erase the reader first, then delete the user."
            return [], {}, set(), [words.format(reader) for reader in readers]
        return super().get_deleted_objects(objs, request)


@admin.register(Group)
class GroupAdmin(Chosen, DjangoGroupAdmin):  # type: ignore[misc]
    empty = EmptyList(
        "No groups so far",
        "A group gives its permissions to all its members. With only a few users you don’t need groups.",
        "Add a group",
        "admin:auth_group_add",
    )
