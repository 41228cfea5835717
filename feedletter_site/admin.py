from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import BooleanFieldListFilter, RelatedFieldListFilter
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.admin import TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminSelect2MultipleWidget

from common.admin.html import moment_of
from common.admin.lists import asks
from common.admin.page_words import EmptyList, PageWords, words_of
from common.optional_apps import is_on
from feedletter_site.api.admin import ApiTokenAdmin
from feedletter_site.migrate_from.admin import ArrivalAdmin
from feedletter_site.ticks.schedule import EVERY_STAGE, STAGES
from reader.models import Reader
from reader.pages.access import confirmed

__all__ = ["ApiTokenAdmin", "ArrivalAdmin"]

for model in (User, Group, PeriodicTask, IntervalSchedule, CrontabSchedule):
    admin.site.unregister(model)
# Nobody changes these here.
for model in (
    SolarSchedule,
    ClockedSchedule,
    EmailAddress,
    Authenticator,
    SocialAccount,
    SocialApp,
    SocialToken,
):
    admin.site.unregister(model)

# Like the menu.
words_of(PeriodicTask, "stage", "schedule")
apps.get_app_config("django_celery_beat").verbose_name = "Schedule"


class Chosen(PageWords):
    """filter_horizontal is wider than the page."""

    filter_horizontal = ()

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["widget"] = UnfoldAdminSelect2MultipleWidget()
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        field.help_text = "Type to search. “Can change user” lets its owner become superuser."
        return field


NEW_USER = ("username", "email", "usable_password", "password1", "password2", "is_staff")


class IdentityInline(TabularInline):  # type: ignore[misc]
    """Identities of OIDC_URL: shown and deleted."""

    model = SocialAccount
    verbose_name, verbose_name_plural = "identity", "Signs in with OpenID Connect as"
    fields = readonly_fields = ("uid", "date_joined", "last_login")
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("auth.view_user") or request.user.has_perm("auth.change_user")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("auth.change_user")


@admin.register(User)
@method_decorator(confirmed(bool), name="changeform_view")
@method_decorator(confirmed(bool), name="user_change_password")
class UserAdmin(Chosen, DjangoUserAdmin):  # type: ignore[misc,type-arg]
    form = UserChangeForm
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
    empty = EmptyList(
        "No users",
        "A user signs in to this admin and can do what you allow.",
        "Add a user",
        "admin:auth_user_add",
        "auth.add_user",
    )

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
        "auth.add_group",
    )


LABELS = {"interval": "Interval", "crontab": "Crontab", "expire_seconds": "Expires after (seconds)"}
HELP = {
    "name": "",
    "description": "",
    "enabled": "If it’s off, this stage doesn’t run.",
    "interval": "",
    "crontab": "",
    "expire_seconds": "A tick that no worker has taken by then is dropped. Use the length of the interval.",
}


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(PageWords):
    """The program defines the stages, so none can be added or deleted."""

    list_display = ("name", "description", "enabled", "interval", "crontab", "last_run")
    list_filter = (("enabled", asks("Which are at work?", BooleanFieldListFilter)),)
    empty = EmptyList(
        "The schedule is empty",
        "Nothing is read or sent now. The service creates its stages when it starts. Restart it.",
    )
    list_select_related = ("interval", "crontab")
    readonly_fields = ("name", "description", "last_run")
    fieldsets = (
        (None, {"fields": ("name", "description", "enabled")}),
        (
            "When it ticks",
            {
                "fields": ("interval", "crontab", "expire_seconds", "last_run"),
                "description": "Choose an interval or a crontab, not both.",
            },
        ),
    )
    last_run = moment_of("last_run_at", "last run", "not yet")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).exclude(name__in=EVERY_STAGE.keys() - STAGES.keys())

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change=change, labels=LABELS, help_texts=HELP, **kwargs)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(IntervalSchedule)
class IntervalAdmin(PageWords):
    empty = EmptyList(
        "No intervals",
        "An interval says how often a stage of the schedule ticks.",
        "Add an interval",
        "admin:django_celery_beat_intervalschedule_add",
        "django_celery_beat.add_intervalschedule",
    )


@admin.register(CrontabSchedule)
class CrontabAdmin(PageWords):
    empty = EmptyList(
        "No crontabs",
        "A crontab says at which hours a stage of the schedule ticks.",
        "Add a crontab",
        "admin:django_celery_beat_crontabschedule_add",
        "django_celery_beat.add_crontabschedule",
    )
    list_display = ("__str__", "human_readable")
    fields = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week", "timezone")
