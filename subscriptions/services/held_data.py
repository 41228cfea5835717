"""What this app holds about an address, for `common.holdings`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F, Model, Value
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import gettext_lazy as _

from common.holdings import Holding, add_holding
from subscriptions.models import Consent, Destination, Notice, SignIn, Subscription, Suppression
from subscriptions.services.erasing import erase_subscriptions, erase_suppressions

Rows = Iterator[Mapping[str, object]]
CHUNK = 1_000


def install() -> None:
    """Called once, when the app is ready."""
    for holding in (ADDRESS, SUBSCRIPTIONS, CONSENTS, SUPPRESSIONS, SIGN_INS, NOTICES):
        add_holding(holding)


def address(destination: Destination) -> Rows:
    yield {
        "address": destination.label,
        "channel": destination.kind,
        "added_at": destination.added_at,
        "disabled_at": destination.disabled_at,
        "disabled_reason": destination.disabled_reason,
    }


def subscriptions(destination: Destination) -> Rows:
    own = ("status", "language", "asked_name", "added_at", "confirmed_at", "left_at", "paused_until")
    rows = destination.subscriptions.order_by("-added_at", "-pk")
    return _each(rows.values(*own, name=F("display_name"), newsletter=_title("subscribable")))


def consents(destination: Destination) -> Rows:
    rows = _consents(destination).order_by("-at", "-pk")
    return _each(
        rows.values("at", "act", "how", "words", "ip", newsletter=_title("subscription__subscribable"))
    )


def suppressions(destination: Destination) -> Rows:
    return _each(_suppressions(destination).values("reason", since=F("created_at")))


def sign_ins(destination: Destination) -> Rows:
    return _each(destination.sign_ins.order_by("-pk").values("asked_at", "used_at"))


def notices(destination: Destination) -> Rows:
    return _each(Notice.objects.filter(destination=destination).order_by("-pk").values("kind", "created_at"))


def _consents(destination: Destination) -> Any:
    return Consent.objects.filter(subscription__destination=destination)


def _title(path: str) -> Coalesce:
    """Of a newsletter, as readers see it."""
    return Coalesce(NullIf(F(f"{path}__title"), Value("")), F(f"{path}__name"))


def _suppressions(destination: Destination) -> Any:
    return Suppression.objects.filter(kind=destination.kind, core=destination.core)


def _each(rows: Any) -> Rows:
    return iter(rows.iterator(chunk_size=CHUNK))


def _with_the_subscriptions(destinations: Sequence[Destination], now: datetime) -> int:
    return 0


def _delete(model: type[Model]) -> Callable[[Sequence[Destination], datetime], int]:
    def delete(destinations: Sequence[Destination], now: datetime) -> int:
        rows: Any = model._default_manager
        return int(rows.filter(destination__in=destinations).delete()[0])

    return delete


def _delete_consents(destinations: Sequence[Destination], now: datetime) -> int:
    return Consent.objects.filter(subscription__destination__in=destinations).delete()[0]


ADDRESS = Holding(
    key="address_record",
    title=_("Your address"),
    columns={
        "address": _("Address"),
        "added_at": _("Known since"),
        "disabled_at": _("Nothing is sent since"),
        "disabled_reason": _("Why"),
    },
    rows=address,
    count=lambda destination: 1,
    erase=_with_the_subscriptions,
)
SUBSCRIPTIONS = Holding(
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
    },
    rows=subscriptions,
    count=lambda destination: destination.subscriptions.count(),
    erase=erase_subscriptions,
    words={
        Subscription.Status.UNCONFIRMED: _("not confirmed yet"),
        Subscription.Status.CONFIRMED: _("confirmed"),
        Subscription.Status.UNSUBSCRIBED: _("left"),
    },
)
CONSENTS = Holding(
    key="consents",
    title=_("What you agreed to"),
    columns={
        "at": _("When"),
        "newsletter": _("Newsletter"),
        "act": _("What"),
        "words": _("What you read there"),
        "ip": _("From the internet address"),
    },
    rows=consents,
    count=lambda destination: _consents(destination).count(),
    erase=_delete_consents,
    words={
        Consent.Act.ASKED: _("asked for it"),
        Consent.Act.CONFIRMED: _("confirmed it"),
        Consent.Act.IMPORTED: _("taken over from a list"),
        Consent.Act.ADDED: _("added by somebody who runs this site"),
        Consent.Act.SWITCHED: _("switched from another newsletter"),
    },
)
SUPPRESSIONS = Holding(
    key="suppressions",
    title=_("Why nothing may be sent to you"),
    columns={"since": _("Since"), "reason": _("Why")},
    rows=suppressions,
    count=lambda destination: _suppressions(destination).count(),
    erase=erase_suppressions,
)
SIGN_INS = Holding(
    key="sign_in_links",
    title=_("Sign-in links of the last days"),
    columns={"asked_at": _("Asked for"), "used_at": _("Used")},
    rows=sign_ins,
    count=lambda destination: destination.sign_ins.count(),
    erase=_delete(SignIn),
)
NOTICES = Holding(
    key="mails_to_come",
    title=_("Mails about to be written"),
    columns={"created_at": _("Since"), "kind": _("What")},
    rows=notices,
    count=lambda destination: Notice.objects.filter(destination=destination).count(),
    erase=_delete(Notice),
    words={
        Notice.Kind.CONFIRMATION: _("a request to confirm"),
        Notice.Kind.WELCOME: _("a welcome"),
        Notice.Kind.SIGN_IN: _("a sign-in link"),
        Notice.Kind.FAREWELL: _("a farewell"),
    },
)
