from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.decorators import action

from common.admin.html import add_url, column, moment_of, when
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.db.bulk import count_of
from common.parts import Facts, Link, Part
from common.ports.panels import Action, Panel
from common.text import pluralize
from reader.models import Channel, Follow, Invitation, Reader, Token
from reader.people.readers import leave, may_read, set_max_feeds

STANDING_COLOURS = {"here": "success", "blocked": "warning", "leaving": "danger"}


def standing_of(reader: Reader) -> str:
    if reader.leaving_at:
        return "leaving"
    return "here" if may_read(reader) else "blocked"


def about_reader(reader: Reader) -> Part:
    follows = Follow.objects.filter(channel__reader=reader).values("feed").distinct().count()
    invitation = getattr(reader, "invitation", None)
    return Facts(
        ("Name", reader.slug),
        ("Signs in as", Link(reader.user)),
        ("Email address", reader.user.email or "–"),
        ("Here since", when(reader.made_at)),
        ("Added by", Link(invitation, f"the invitation for {invitation}") if invitation else "–"),
        ("Last seen", when(reader.last_seen_at, "Not yet.")),
        ("Follows", pluralize(follows, "feed")),
        ("In", pluralize(reader.channels.filter(is_notifications=False).count(), "channel")),
        ("Apps with a key", reader.tokens.filter(revoked_at=None).count()),
        ("Standing", standing_of(reader)),
    )


def what_erasing_does(keys: list[int]) -> list[str]:
    return [
        f"{reader}: channels, marks and stars go, and {pluralize(follows, 'feed')} no longer followed by"
        " them. It cannot be taken back. Feeds and posts that others follow stay."
        for reader in Reader.objects.filter(pk__in=keys)
        for follows in [Follow.objects.filter(channel__reader=reader).values("feed").distinct().count()]
    ]


def erase_readers(request: HttpRequest, keys: list[int]) -> str:
    readers = list(Reader.objects.filter(pk__in=keys, leaving_at=None).select_related("user"))
    for reader in readers:
        leave(reader=reader, now=utcnow())
    said = pluralize(len(readers), "reader")
    return f"{said} blocked immediately. Their data is deleted within a few hours."


@admin.register(Reader)
class ReaderAdmin(ServiceAdmin):
    list_display = ("name", "user", "channels", "follows", "clients", "last_seen", "made", "standing")
    list_select_related = ("user",)
    search_fields = ("slug", "user__username", "user__email")
    actions_list = ("invite_somebody",)
    fields = ("max_feeds",)
    empty = EmptyList(
        "Nobody uses the reader yet",
        "People on this server can read feeds on its pages and in apps. Invite someone, or start "
        "yourself at /reader/.",
        "Invite somebody",
        "admin:reader_invitation_add",
    )
    own_panels = (Panel("About", about_reader, order=10),)
    own_actions = (
        Action(
            "erase",
            "Erase",
            erase_readers,
            what_erasing_does,
            permission="drop",
            fits=lambda reader: reader.leaving_at is None,
        ),
    )
    last_seen = moment_of("last_seen_at", "last seen", "not yet")
    made = moment_of("made_at", "here since")
    name = column("name", lambda reader: reader.slug, ordering="slug")
    channels = column("channels", lambda reader: int(reader.channel_count), ordering="channel_count")
    follows = column("follows", lambda reader: int(reader.follow_count), ordering="follow_count")
    clients = column("programs", lambda reader: int(reader.client_count), ordering="client_count")
    standing = column("standing", standing_of, label=STANDING_COLOURS)

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Reader]":
        rows: QuerySet[Reader] = super().get_queryset(request)
        return rows.annotate(
            channel_count=count_of(Channel.objects.filter(is_notifications=False), "reader"),
            follow_count=count_of(Follow.objects.all(), "channel__reader"),
            client_count=count_of(Token.objects.filter(Q(revoked_at=None)), "reader"),
        )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if "max_feeds" in form.base_fields:
            form.base_fields["max_feeds"].widget.attrs["placeholder"] = f"{settings.READER_MAX_FEEDS:,}"
        return form

    def save_model(self, request: HttpRequest, obj: Reader, form: Any, change: bool) -> None:
        set_max_feeds(reader=obj, max_feeds=form.cleaned_data["max_feeds"])

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @action(description="Invite somebody", url_path="invite", icon="person_add", permissions=["invite"])
    def invite_somebody(self, request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect(add_url(Invitation))

    def has_invite_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("reader.add_invitation")
