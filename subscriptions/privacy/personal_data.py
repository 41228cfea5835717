from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, NullIf
from django.http import StreamingHttpResponse
from django.utils.translation import gettext_lazy as _

from common.clock import utcnow
from common.ports.personal_data import HeldRows, by, rows_as_json, sources
from subscriptions.models import (
    AddressChange,
    Consent,
    Destination,
    Notice,
    SeriesRun,
    SignIn,
    SignInRequest,
    Subscription,
    Suppression,
    Tagging,
)
from subscriptions.privacy.erase import erase_subscriptions, erase_suppressions

BY_DESTINATION = by("destination")


def _title(path: str) -> Coalesce:
    return Coalesce(NullIf(F(f"{path}__title"), Value("")), F(f"{path}__name"))


def _delete_sign_ins(destinations: Sequence[Destination], now: datetime) -> int:
    """Includes requests that no worker has seen."""
    cores = [destination.core for destination in destinations]
    SignInRequest.objects.filter(core__in=cores).delete()
    return SignIn.objects.filter(destination__in=destinations).delete()[0]


SOURCES = (
    HeldRows(
        "address_record",
        Destination.objects.values(
            "added_at", "disabled_at", "disabled_reason", address=F("label"), channel=F("kind")
        ),
        by("pk"),
        _("Your address"),
        {
            "address": _("Address"),
            "added_at": _("Added"),
            "disabled_at": _("Nothing is sent since"),
            "disabled_reason": _("Why"),
        },
        # Done by `erase_subscriptions`.
        eraser=lambda of, now: 0,
    ),
    HeldRows(
        "subscriptions",
        Subscription.objects.order_by("-added_at", "-pk").values(
            "status",
            "language",
            "asked_name",
            "added_at",
            "confirmed_at",
            "left_at",
            "paused_until",
            "left_why",
            name=F("display_name"),
            newsletter=_title("subscribable"),
        ),
        BY_DESTINATION,
        _("Your subscriptions"),
        {
            "newsletter": _("Newsletter"),
            "name": _("Your name"),
            "language": _("Language"),
            "status": _("Status"),
            # Translators: the time of the request.
            "added_at": _("Asked for"),
            "confirmed_at": _("Confirmed"),
            "paused_until": _("Paused until"),
            # Translators: the time of unsubscribing.
            "left_at": _("Left"),
            "left_why": _("Why you left"),
        },
        {
            Subscription.Status.UNCONFIRMED: _("not confirmed yet"),
            Subscription.Status.CONFIRMED: _("confirmed"),
            # Translators: the state of a subscription: unsubscribed.
            Subscription.Status.UNSUBSCRIBED: _("left"),
            **dict(Subscription.LeftWhy.choices),
        },
        erase_subscriptions,
    ),
    HeldRows(
        "consents",
        Consent.objects.order_by("-at", "-pk").values(
            "at", "act", "how", "words", "ip", newsletter=_title("subscription__subscribable")
        ),
        by("subscription__destination"),
        _("What you agreed to"),
        {
            "at": _("When"),
            "newsletter": _("Newsletter"),
            "act": _("What"),
            "words": _("What you read there"),
            "ip": _("From the internet address"),
        },
        {
            Consent.Act.ASKED: _("asked for it"),
            Consent.Act.CONFIRMED: _("confirmed it"),
            Consent.Act.IMPORTED: _("imported from a list"),
            Consent.Act.ADDED: _("added by somebody who runs this site"),
            Consent.Act.SWITCHED: _("switched from another newsletter"),
        },
    ),
    HeldRows(
        "series",
        SeriesRun.objects.order_by("-pk").values(
            "begun_at", "time_zone", "ended_at", of=_title("newsletter")
        ),
        by("subscription__destination"),
        # Translators: emails that new subscribers get one after another.
        _("Series of emails"),
        {"of": _("Newsletter"), "begun_at": _("Begun"), "ended_at": _("Ended"), "time_zone": _("Time zone")},
    ),
    HeldRows(
        "tags",
        Tagging.objects.order_by("tag__key").values(tag_name=F("tag__name")),
        BY_DESTINATION,
        _("Groups you are in"),
        {"tag_name": _("Name")},
    ),
    HeldRows(
        "suppressions",
        Suppression.objects.values("reason", since=F("created_at")),
        lambda given: reduce(or_, (Q(kind=one.kind, core=one.core) for one in given)),
        _("Why nothing may be sent to you"),
        {"since": _("Since"), "reason": _("Why")},
        eraser=erase_suppressions,
    ),
    HeldRows(
        "sign_in_links",
        SignIn.objects.order_by("-pk").values("asked_at", "used_at"),
        BY_DESTINATION,
        _("Sign-in links of the last days"),
        {"asked_at": _("Asked for"), "used_at": _("Used")},
        eraser=_delete_sign_ins,
    ),
    HeldRows(
        "address_changes",
        AddressChange.objects.order_by("-pk").values(
            "asked_at", "confirmed_at", "undone_at", was=F("old__label"), became=F("new__label")
        ),
        by("old", "new"),
        _("Changes of your address"),
        {
            "asked_at": _("Asked for"),
            "was": _("Old address"),
            "became": _("New address"),
            "confirmed_at": _("Confirmed"),
            # Translators: the time when a change was undone.
            "undone_at": _("Taken back"),
        },
    ),
    HeldRows(
        "mails_to_come",
        Notice.objects.order_by("-pk").values("kind", "created_at"),
        BY_DESTINATION,
        _("Emails about to be sent"),
        {"created_at": _("Since"), "kind": _("What")},
        {
            Notice.Kind.CONFIRMATION: _("a request to confirm"),
            Notice.Kind.WELCOME: _("a welcome"),
            Notice.Kind.SIGN_IN: _("a sign-in link"),
            Notice.Kind.FAREWELL: _("a farewell"),
        },
    ),
)


def data_file_of(destination: Destination) -> StreamingHttpResponse:
    """Return a copy of what is stored about a person, to be downloaded."""
    text = held_as_json(destination, now=utcnow())
    response = StreamingHttpResponse(text, content_type="application/json")
    response.headers["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return response


def held_as_json(destination: Destination, *, now: datetime) -> Iterator[str]:
    return rows_as_json({"address": destination.label, "as_of": now}, sources, destination)
