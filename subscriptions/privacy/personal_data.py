from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import gettext_lazy as _

from common.ports.personal_data import PersonalDataSource, add_holding, personal_data, rows_as_json
from subscriptions.models import (
    AddressChange,
    Consent,
    Destination,
    Notice,
    SignIn,
    SignInRequest,
    Subscription,
    Suppression,
    Tagging,
)
from subscriptions.privacy.erase import erase_subscriptions, erase_suppressions

Query = Any


def install() -> None:
    for holding in (ADDRESS, SUBSCRIPTIONS, CONSENTS, TAGS, SUPPRESSIONS, SIGN_INS, ADDRESS_CHANGES, NOTICES):
        add_holding(holding)


def address_rows(destination: Destination) -> Query:
    own = ("added_at", "disabled_at", "disabled_reason")
    rows = Destination.objects.filter(pk=destination.pk)
    return rows.values(*own, address=F("label"), channel=F("kind"))


def subscription_rows(destination: Destination) -> Query:
    own = (
        "status",
        "language",
        "asked_name",
        "added_at",
        "confirmed_at",
        "left_at",
        "paused_until",
        "left_why",
    )
    rows = destination.subscriptions.order_by("-added_at", "-pk")
    return rows.values(*own, name=F("display_name"), newsletter=_title("subscribable"))


def consent_rows(destination: Destination) -> Query:
    rows = Consent.objects.filter(subscription__destination=destination).order_by("-at", "-pk")
    return rows.values("at", "act", "how", "words", "ip", newsletter=_title("subscription__subscribable"))


def tag_rows(destination: Destination) -> Query:
    return destination.taggings.order_by("tag__key").values(tag_name=F("tag__name"))


def suppression_rows(destination: Destination) -> Query:
    rows = Suppression.objects.filter(kind=destination.kind, core=destination.core)
    return rows.values("reason", since=F("created_at"))


def sign_in_rows(destination: Destination) -> Query:
    return destination.sign_ins.order_by("-pk").values("asked_at", "used_at")


def address_change_rows(destination: Destination) -> Query:
    rows = AddressChange.objects.filter(Q(old=destination) | Q(new=destination)).order_by("-pk")
    return rows.values("asked_at", "confirmed_at", "undone_at", was=F("old__label"), became=F("new__label"))


def notice_rows(destination: Destination) -> Query:
    return Notice.objects.filter(destination=destination).order_by("-pk").values("kind", "created_at")


def _title(path: str) -> Coalesce:
    return Coalesce(NullIf(F(f"{path}__title"), Value("")), F(f"{path}__name"))


def _delete_sign_ins(destinations: Sequence[Destination], now: datetime) -> int:
    """Includes requests that no worker has seen."""
    cores = [destination.core for destination in destinations]
    SignInRequest.objects.filter(core__in=cores).delete()
    return SignIn.objects.filter(destination__in=destinations).delete()[0]


ADDRESS = PersonalDataSource(
    key="address_record",
    title=_("Your address"),
    columns={
        "address": _("Address"),
        "added_at": _("Known since"),
        "disabled_at": _("Nothing is sent since"),
        "disabled_reason": _("Why"),
    },
    query=address_rows,
    # Done by `erase_subscriptions`.
    erase=lambda of, now: 0,
)
SUBSCRIPTIONS = PersonalDataSource(
    key="subscriptions",
    title=_("Your subscriptions"),
    columns={
        "newsletter": _("Newsletter"),
        "name": _("Your name"),
        "language": _("Language"),
        "status": _("Status"),
        "added_at": _("Asked for"),
        "confirmed_at": _("Confirmed"),
        "paused_until": _("Paused until"),
        "left_at": _("Left"),
        "left_why": _("Why you left"),
    },
    query=subscription_rows,
    erase=erase_subscriptions,
    words={
        Subscription.Status.UNCONFIRMED: _("not confirmed yet"),
        Subscription.Status.CONFIRMED: _("confirmed"),
        Subscription.Status.UNSUBSCRIBED: _("left"),
        **dict(Subscription.LeftWhy.choices),
    },
)
CONSENTS = PersonalDataSource(
    key="consents",
    title=_("What you agreed to"),
    columns={
        "at": _("When"),
        "newsletter": _("Newsletter"),
        "act": _("What"),
        "words": _("What you read there"),
        "ip": _("From the internet address"),
    },
    query=consent_rows,
    erase=lambda of, now: Consent.objects.filter(subscription__destination__in=of).delete()[0],
    words={
        Consent.Act.ASKED: _("asked for it"),
        Consent.Act.CONFIRMED: _("confirmed it"),
        Consent.Act.IMPORTED: _("taken over from a list"),
        Consent.Act.ADDED: _("added by somebody who runs this site"),
        Consent.Act.SWITCHED: _("switched from another newsletter"),
    },
)
TAGS = PersonalDataSource(
    key="tags",
    title=_("Groups you are in"),
    columns={"tag_name": _("Name")},
    query=tag_rows,
    erase=lambda of, now: Tagging.objects.filter(destination__in=of).delete()[0],
)
SUPPRESSIONS = PersonalDataSource(
    key="suppressions",
    title=_("Why nothing may be sent to you"),
    columns={"since": _("Since"), "reason": _("Why")},
    query=suppression_rows,
    erase=erase_suppressions,
)
SIGN_INS = PersonalDataSource(
    key="sign_in_links",
    title=_("Sign-in links of the last days"),
    columns={"asked_at": _("Asked for"), "used_at": _("Used")},
    query=sign_in_rows,
    erase=_delete_sign_ins,
)
ADDRESS_CHANGES = PersonalDataSource(
    key="address_changes",
    title=_("Changes of your address"),
    columns={
        "asked_at": _("Asked for"),
        "was": _("Old address"),
        "became": _("New address"),
        "confirmed_at": _("Confirmed"),
        "undone_at": _("Taken back"),
    },
    query=address_change_rows,
    erase=lambda of, now: AddressChange.objects.filter(Q(old__in=of) | Q(new__in=of)).delete()[0],
)
NOTICES = PersonalDataSource(
    key="mails_to_come",
    title=_("Mails about to be written"),
    columns={"created_at": _("Since"), "kind": _("What")},
    query=notice_rows,
    erase=lambda of, now: Notice.objects.filter(destination__in=of).delete()[0],
    words={
        Notice.Kind.CONFIRMATION: _("a request to confirm"),
        Notice.Kind.WELCOME: _("a welcome"),
        Notice.Kind.SIGN_IN: _("a sign-in link"),
        Notice.Kind.FAREWELL: _("a farewell"),
    },
)


def held_as_json(destination: Destination, *, now: datetime) -> Iterator[str]:
    return rows_as_json({"address": destination.label, "as_of": now}, personal_data(), destination)
