from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import quote

from django.contrib import admin, messages
from django.contrib.admin import (
    AllValuesFieldListFilter,
    BooleanFieldListFilter,
    ChoicesFieldListFilter,
    SimpleListFilter,
)
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.db.models import Q, QuerySet
from django.forms.widgets import Script
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import action, display

from common.access import role_of
from common.admin.html import brief, column, list_link
from common.admin.lists import asks
from common.admin.model_admin import LookedUpList, ServiceAdmin
from common.admin.page_words import EmptyList, ListPart
from common.admin.resources import actions_of
from common.body_limits import MAX_FORM_BYTES, takes_body
from common.clock import utcnow
from common.db.bulk import count_of
from common.parts import Part, Text
from common.pictures.picture import MOST_CODED_BYTES
from common.ports import channels
from common.ports.panels import Action, Panel, Tab
from feeds.models import Feed
from subscriptions.admin import newsletter_panels, post_rules, site
from subscriptions.admin_words import FIRST_ISSUE, rhythm_for_admins, rhythm_here
from subscriptions.branding.brands import NO_BRAND, USUAL_COLOUR, brands
from subscriptions.forms.admin import free_name, shown_for, stored_fields, subscribable_form
from subscriptions.models import PostRule, Subscribable, Subscription
from subscriptions.newsletters.define import (
    SCHEDULING,
    alter_subscribable,
    define_subscribable,
    next_moments,
    usual_access,
)
from subscriptions.resources.newsletters import newsletters
from subscriptions.rules.schedule import ARRANGEMENTS
from subscriptions.subscribers.counts import confirmed_counts

STATE_COLOURS = {
    "active": "success",
    "paused": "warning",
    "stopped": "info",
    "waits for its first subscriber": "info",
}
CLOSED = (
    "It’s private and only you can add subscribers, because one of its feeds needs credentials."
    " You can change that in Settings."
)
APPROVAL = ("approval", "approval_minutes")
SIGN_UP = ("sign_up", "embed_hosts", "offers_devices")
WELCOME_AND_GOODBYE = ("challenge", "welcome", "series_at", "series_first", "farewell_mail", "keep_ip")
FREQUENCY = ("arrangement", "weekdays", "at", "day_of_month", "cron", "n", "max_wait_days", "time_zone")
LOOK = ("template", "language", "params")


NO_NEWSLETTERS = EmptyList(
    "No newsletters yet",
    "A newsletter emails the posts of one or more feeds to subscribers, one by one or together at a time"
    " you choose.",
    "Create a newsletter",
    "admin:subscriptions_subscribable_add",
)
NO_BRIDGES = EmptyList(
    "No bridges yet",
    "A bridge publishes new posts to an account on Mastodon, Bluesky, Discord or another service.",
    "Add a bridge",
    "add_bridge",
)


class BridgeFilter(SimpleListFilter):
    """Newsletters and bridges are separate entries of the menu."""

    title = "What is it?"
    parameter_name = "what"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("newsletters", "a newsletter"), ("bridges", "a bridge"), ("channels", "made for a reader")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        is_bridge = Q(channel__in=[kind.key for kind in channels.bridge_kinds()])
        match self.value():
            case "newsletters":
                return queryset.exclude(is_bridge).filter(reader_channel=None)
            case "channels":
                return queryset.filter(reader_channel__isnull=False)
            case "bridges":
                return queryset.filter(is_bridge)
        return queryset


class NextFirstList(LookedUpList):
    """Sorts each page by the next issue, unless a column is chosen."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if ORDER_VAR not in request.GET:
            latest = datetime.max.replace(tzinfo=UTC)
            rows: list[Any] = list(self.result_list)
            self.result_list = sorted(rows, key=lambda row: (row.stopped, row.next_moment or latest))


def rhythm_of(subscribable: Subscribable) -> Part:
    kind = "" if subscribable.channel == "email" else channels.get(subscribable.channel).label
    return (rhythm_here(subscribable), Text(kind, "note") if kind else "")


def named(subscribable: Any) -> SafeString:
    if not channels.get(subscribable.channel).public_sign_up:
        sprite = static("feedletter/services.svg")
        mark = '<svg class="fl-service" aria-hidden="true"><use href="{}#{}"/></svg>'
        return format_html(
            f'<span class="fl-named">{mark}{{}}</span>', sprite, subscribable.channel, subscribable
        )
    brand = subscribable.brand
    picture = f"background-image: url('{quote(brand.header_picture_url, safe=':/?&=%')}')"
    return format_html(
        '<span class="fl-named" style="--fl-own: {}"><span class="fl-cover" style="{}"></span>{}</span>',
        brand.accent or USUAL_COLOUR,
        picture if brand.header_picture_url else "",
        subscribable,
    )


def counted(subscribable: Any) -> Part:
    return list_link(Subscription, subscribable.subscriber_count, subscribable__id__exact=subscribable.pk)


@admin.register(Subscribable)
class SubscribableAdmin(ServiceAdmin):
    list_display = ("shown_title", "shown_rhythm", "goes_out_next", "subscribers", "state")
    columns_before = "subscribers"
    list_filter = (
        BridgeFilter,
        ("channel", asks("Which channel?", AllValuesFieldListFilter)),
        ("arrangement", asks("How often?", ChoicesFieldListFilter)),
        ("visibility", asks("Who can see it?", ChoicesFieldListFilter)),
        ("stopped", asks("Which have stopped?", BooleanFieldListFilter)),
    )
    empty = NO_NEWSLETTERS
    parts = (
        ListPart("what=newsletters", ("newsletter", "newsletters"), NO_NEWSLETTERS),
        ListPart("what=bridges", ("bridge", "bridges"), NO_BRIDGES),
    )
    search_fields = ("name", "title")
    autocomplete_fields = ("feeds",)
    shown_after_adding = True
    scope = "pk"
    tabs = (
        Tab("next", "Next issue"),
        Tab("issues", "Issues"),
        Tab("subscribers", "Subscribers"),
        Tab("look", "Look"),
        Tab("settings", "Settings"),
        Tab("share", "Share"),
    )
    former_tabs: ClassVar[dict[str, str]] = {"overview": "next", "site": "share"}
    actions_list = ("add_bridge",)
    own_panels = (
        Panel("Posts that wait", post_rules.what_is_stuck, order=8),
        Panel("What’s next", newsletter_panels.what_next, order=9, asks=True),
        Panel("Schedule", newsletter_panels.schedule, order=16),
        Panel("Subscribers", newsletter_panels.people, order=10, tab="subscribers"),
        Panel("Put it on your site", site.put_on_your_site, order=40, tab="share"),
        Panel("What its rules do", post_rules.what_rules_do, order=51, tab="settings"),
        Panel("Left out lately", post_rules.left_out_lately, order=52, tab="settings"),
        Panel("The same as a command", newsletter_panels.command, order=90, tab="settings"),
    )
    own_actions = (
        Action(
            "begin",
            "Begin with recent posts",
            newsletter_panels.begin_with_recent,
            form=newsletter_panels.BeginForm,
            fits=newsletter_panels.has_recent_posts,
        ),
        *actions_of(newsletters),
    )

    class Media:
        js = (Script("feedletter/pasting.js", defer=True), Script("feedletter/newsletter.js", defer=True))

    shown_rhythm = column("how often", rhythm_of)
    shown_title = column("newsletter", named, ordering="title")
    shown_bridge = column("bridge", named, ordering="title")
    subscribers = column("subscribers", counted, ordering="subscriber_count")
    accounts = column("accounts", counted, ordering="subscriber_count")

    @action(description="Add a bridge", url_path="add-bridge", icon="share", permissions=["add"])
    def add_bridge(self, request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect(reverse("add_bridge"))

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        shown = super().get_list_display(request)
        if request.GET.get("what") == "bridges":
            shown[shown.index("shown_title")], shown[shown.index("subscribers")] = "shown_bridge", "accounts"
        return shown

    def shown_tabs(self, request: HttpRequest) -> Sequence[Tab]:
        """Roles are without settings."""
        is_whole = self.has_change_permission(request) or not role_of(request.user)
        return self.tabs if is_whole else self.tabs[:3]

    @cached_property
    def conditional_fields(self) -> dict[str, str]:
        """When a field is shown (Alpine expressions)."""
        used = {
            name: " || ".join(
                f"arrangement == '{each}'" for each in ARRANGEMENTS if name in ARRANGEMENTS[each]
            )
            for name in SCHEDULING
        }
        periods = " || ".join(
            f"arrangement == '{each}'" for each in ARRANGEMENTS if ARRANGEMENTS[each] & {"at", "cron"}
        )
        of_channel = {kind.key: f"channel == '{kind.key}'" for kind in channels.newsletter_kinds()}
        by_mail = dict.fromkeys(
            ("from_email", "reply_to", "content", "tells_corrections"), "channel == 'email'"
        )
        to_people = " || ".join(f"channel == '{kind.key}'" for kind in channels.person_kinds())
        for_people = dict.fromkeys(("sign_up", "embed_hosts", *WELCOME_AND_GOODBYE), to_people)
        by_mail |= dict.fromkeys(("series_at", "series_first"), "channel == 'email' && welcome == 'series'")
        approval = {"approval_minutes": "approval == 'delay'"}
        several = dict.fromkeys(("post_order", "max_posts"), "arrangement != 'each'")
        return {
            **used,
            **approval,
            **several,
            "grace_minutes": periods,
            **for_people,
            **by_mail,
            **shown_for("option_fields", of_channel),
        }

    @takes_body(2 * MOST_CODED_BYTES + MAX_FORM_BYTES, files=True)
    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = super().change_view(request, *args, **kwargs)
        return answer

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        own = self.tab_form(request, obj)
        usual = own.form if own else subscribable_form()
        form = super().get_form(request, obj, change=change, **{"form": usual, **kwargs})
        if self.tab(request, obj):
            # Fields declared on the class would be in every tab.
            shown = flatten_fieldsets(self.get_fieldsets(request, obj))
            form.base_fields = {name: form.base_fields[name] for name in shown if name in form.base_fields}
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        tab, own = self.tab(request, obj), self.tab_form(request, obj)
        if own is not None:
            # (Others see the panels.)
            return own.fieldsets(obj) if self.has_change_permission(request, obj) else ()
        if tab not in ("", "settings"):
            return ()
        options = tuple(shown_for("option_fields", {}))
        posts = ("content", "post_order", "max_posts", "tells_corrections", *APPROVAL, "hooks")
        sender = ("channel", "from_email", "reply_to", *options)
        if obj is None and request.method is not None:
            return self._new_fieldsets(request, posts, sender)
        more = {"classes": ("collapse",)}
        sets: list[Any] = [
            ("", {"fields": ("title", *FREQUENCY)}),
            ("Feeds and description", {"fields": ("feeds", "name", "description")}),
            ("Posts and approval", {"fields": posts} | more),
            ("Sender", {"fields": ("grace_minutes", *sender)} | more),
            ("Visibility and sign-up", {"fields": ("visibility", *SIGN_UP, "stopped")} | more),
            ("Welcome and goodbye", {"fields": WELCOME_AND_GOODBYE} | more),
        ]
        return sets if tab else [*sets, ("Look", {"fields": LOOK} | more)]

    def _new_fieldsets(self, request: HttpRequest, posts: Sequence[str], sender: Sequence[str]) -> Any:
        """Ask for title, frequency and time zone, and for feeds unless they are given."""
        has_feeds = bool(self.get_changeform_initial_data(request).get("feeds"))
        first = ("title", *FREQUENCY) if has_feeds else ("feeds", "title", *FREQUENCY)
        rest = (
            *(("feeds",) if has_feeds else ()),
            *("name", "description", *posts, "grace_minutes", *sender, "visibility", *SIGN_UP),
            *WELCOME_AND_GOODBYE,
            *LOOK,
        )
        # Errors must be seen.
        classes = () if request.method == "POST" else ("collapse",)
        return [("", {"fields": first}), ("More settings", {"fields": rest, "classes": classes})]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        label = {"save_label": "Create", "title": "New newsletter"}
        return super().add_view(request, form_url, {**(extra_context or {}), **label})

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        # It is part of URLs, of commands and of every List-Id.
        return ("name",) if obj is not None else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Start with the feed's title, description and language."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        given = [int(value) for value in initial.get("feeds", []) if str(value).isdecimal()]
        feeds = list(Feed.objects.filter(pk__in=given).order_by("pk"))
        if not given and len(only := list(Feed.objects.order_by("pk")[:2])) == 1 and not only[0].credentials:
            # The only feed that everybody may read.
            feeds, initial["feeds"] = only, [only[0].pk]
        initial = {**usual_access(feeds), **initial}
        feed = feeds[0] if feeds else None
        if feed is not None and feed.title:
            initial.setdefault("title", feed.title[:200])
            initial.setdefault("name", free_name(feed.title))
        if feed is not None and feed.description:
            initial.setdefault("description", feed.description)
        if feed is not None and feed.language:
            initial.setdefault("language", feed.language)
        return initial

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Subscribable]":
        every: QuerySet[Subscribable] = super().get_queryset(request)
        if ORDER_VAR not in request.GET:
            return every
        return every.annotate(subscriber_count=count_of(Subscription.objects.confirmed(), "subscribable"))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NextFirstList

    def look_up(self, rows: Sequence[Any]) -> None:
        super().look_up(rows)
        counts, moments = confirmed_counts(row.pk for row in rows), next_moments(rows, now=utcnow())
        faces = brands(rows)
        for row in rows:
            row.subscriber_count, row.next_moment = counts[row.pk], moments[row.pk]
            row.brand = faces.get(row.pk, NO_BRAND)

    def save_model(self, request: HttpRequest, obj: Subscribable, form: Any, change: bool) -> None:
        data = dict(form.cleaned_data)
        if (tab_form := self.tab_form(request, obj)) is not None:
            tab_form.save(obj, data)
            return
        if not data:
            return
        fields = stored_fields(form)
        if change:
            # A feed that needs credentials may have joined a newsletter that others see.
            added = set(data["feeds"]) - set(obj.feeds.all())
            usual = usual_access(added)
            if usual and any(data[name] != closed for name, closed in usual.items()):
                names = ", ".join(f"“{feed}”" for feed in added if feed.credentials)
                words = f"{names} needs credentials. From now on, others can see its posts here."
                messages.warning(request, words)
            alter_subscribable(subscribable=obj, feeds=list(data["feeds"]), **fields)
            return
        # A feed with credentials closes the newsletter, unless the admin has seen the access fields.
        was_access_seen = self.get_changeform_initial_data(request).get("visibility")
        was_access_seen = was_access_seen or "visibility" in form.changed_data
        if not was_access_seen and (closed := usual_access(data["feeds"])):
            fields.update(closed)
            messages.warning(request, CLOSED)
        made = define_subscribable(feeds=list(data["feeds"]), **fields)
        obj.pk, obj.awaits_first_reader = made.pk, made.awaits_first_reader
        first = f" {FIRST_ISSUE}" if obj.awaits_first_reader else ""
        messages.success(request, f"“{obj}” is ready. New posts are sent: {rhythm_for_admins(obj)}.{first}")

    def get_inlines(self, request: HttpRequest, obj: Any = None) -> Any:
        # A new one needs few fields.
        is_there = obj is not None and self.tab(request, obj) in ("", "settings")
        return (post_rules.RuleInline,) if is_there else ()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        for formset in formsets:
            if formset.model is PostRule:
                post_rules.save_rules(form.instance, formset)

    @display(description="next issue")
    def goes_out_next(self, subscribable: Any) -> str:
        if subscribable.next_moment is not None:
            return brief(subscribable.next_moment, zone=subscribable.zone)
        return "none" if subscribable.stopped else "with the next post"

    @display(description="state", label=STATE_COLOURS)
    def state(self, subscribable: Subscribable) -> str:
        if subscribable.sending_paused_at is not None:
            return "paused"
        if subscribable.stopped:
            return "stopped"
        return "waits for its first subscriber" if subscribable.awaits_first_reader else "active"
