"""Taking reports: what they prove, what is done to the address, and a row that says so. Idempotent.

Anyone can send a report to a return address. Only one that names a letter as nobody but its reader and the
hosts on its way can know it has any effect: by our stamped return address, or by its Message-ID together
with the right recipient.
"""

import hmac
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from common.counters import count
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.ports.events import Event, EventKind, emit
from delivery.bounces.domain_refusals import on_refusals, pause_denying
from delivery.bounces.finding import Finding
from delivery.bounces.history import Together, history, of_the_hour
from delivery.bounces.parsing import BounceReport, Unreadable, digest, read
from delivery.channels.email.letter_form import message_mark
from delivery.channels.email.return_path import is_ours
from delivery.lanes.backoff import lock_lanes
from delivery.models import Bounce, Delivery
from delivery.rules.bounce_policy import HELD, LET_BE, NOTHING_ARRIVES, Act, BounceKind, History, act, mildest
from delivery.rules.refusals import is_refusal
from delivery.rules.verp import tokens
from subscriptions.models import Destination, Suppression
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.suppression import lift, suppress

log = logging.getLogger(__name__)

# What others are told of. (A delayed letter may still arrive.)
BOUNCED = (BounceKind.HARD, BounceKind.SOFT, BounceKind.POLICY, BounceKind.COMPLAINT)
IGNORED = (BounceKind.AUTO_REPLY, BounceKind.ARRIVED)
UNPROVEN = "Ignored: it does not prove which letter it is about."
KEEP_UNPROVEN = timedelta(days=30)
KEEP = timedelta(days=730)


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a report: its kind, the sentence about it, and the row, where there is one."""

    kind: str
    effect: str
    bounce: Bounce | None = None
    is_new: bool = True


def take_report(*, raw: bytes, now: datetime, recipient: str = "") -> Taken:
    """Takes one mail that came back. `recipient` is whom the envelope named, where that is known."""
    try:
        report = read(raw)
    except Unreadable as error:
        report = BounceReport(BounceKind.UNKNOWN, (), (), (), str(error))
    if report.kind in IGNORED:
        return Taken(report.kind.value, "Ignored.")
    delivery, finding = _proven(report, recipient)
    if delivery is None:
        return _record(digest(raw), _unproven(report, now))
    if finding.kind in IGNORED:
        return Taken(finding.kind.value, "Ignored.")
    known = digest(raw, delivery.pk)
    return take_finding(delivery=delivery, finding=finding, digest=known, now=now, words=report.words)


@transaction.atomic
def take_finding(
    *, delivery: Delivery, finding: Finding, digest: str, now: datetime, words: str = ""
) -> Taken:
    """Records what is known to have become of a delivery, and does what follows from it.

    `digest` is at most 64 characters, the same for the same report: the second time changes nothing.
    """
    taken = take_down(delivery=delivery, finding=finding, digest=digest, now=now, words=words)
    lock_lanes(lanes_concerned([taken]))
    follow_up(taken=[taken], now=now)
    return taken


def take_down(
    *,
    delivery: Delivery,
    finding: Finding,
    digest: str,
    now: datetime,
    words: str = "",
    tried_at: datetime | None = None,
    together: Together | None = None,
) -> Taken:
    """The part of `take_finding` that is the address's, within the caller's transaction.

    `tried_at` is when that letter was tried, if a server's own answer says so and not a later report.
    `together` is the same for all that are taken down in one transaction.
    """
    # One report of an address at a time: each has to see the days of those before it.
    destination = Destination.objects.select_for_update(no_key=True).get(pk=delivery.destination_id)
    taken = _record(
        digest,
        {
            "delivery": delivery,
            "destination": destination,
            "domain": delivery.domain,
            "kind": finding.kind.value,
            "status": finding.status[:16],
            "diagnostic": finding.diagnostic or words,
            "recipient": _named(finding),
            "at": now,
        },
    )
    if taken.bounce is None or not taken.is_new:
        return taken
    tried_at = tried_at or delivery.sent_at or delivery.created_at
    together = together or Together()
    known = history(bounce=taken.bounce, tried_at=tried_at, together=together)
    acted = _acted(taken.bounce, finding.kind, known)
    if taken.bounce.held:
        together.counts.pop((delivery.lane_id, delivery.domain), None)
        together.denying.add((delivery.lane_id, delivery.domain))
    return acted


def lanes_concerned(taken: Iterable[Taken]) -> set[int]:
    """The lanes that have to be locked for `follow_up`, after all destinations: their keys."""
    return {
        bounce.delivery.lane_id
        for bounce in _fresh(taken)
        if bounce.delivery and (_is_denial(bounce) or is_refusal(bounce.status))
    }


def follow_up(*, taken: Iterable[Taken], now: datetime) -> None:
    """The part that is the domain's or the newsletter's: after it, no destination or lane may be locked.

    Under the locks of `lanes_concerned`: each worker sees what those before it have paused and why.
    """
    fresh = _fresh(taken)
    emit(Event(EventKind.BOUNCED, tuple(one.pk for one in fresh if one.kind in BOUNCED), now))
    denials = {(one.delivery.lane_id, one.domain): one for one in fresh if one.delivery and _is_denial(one)}
    for _, bounce in sorted(denials.items()):
        if pause_denying(bounce=bounce, now=now):
            log.warning("a domain denies too many addresses", extra={"domain": bounce.domain})
        _hold_earlier(bounce)
    on_refusals(bounces=fresh, now=now)


def _fresh(taken: Iterable[Taken]) -> list[Bounce]:
    return [one.bounce for one in taken if one.is_new and one.bounce is not None]


def _is_denial(bounce: Bounce) -> bool:
    return bounce.held and bounce.kind == BounceKind.HARD


def release(*, bounces: Iterable[Bounce], suppressing: bool, now: datetime) -> int:
    """Decides on held bounces: suppresses their addresses, or lets them be. Returns how many there were."""
    held = Bounce.objects.filter(pk__in=[bounce.pk for bounce in bounces], held=True)
    count = 0
    for bounce in held.select_related("destination").order_by("pk"):
        count += _released(bounce, suppressing, now)
    return count


def prune_bounces(*, now: datetime) -> int:
    """Forgets what may be forgotten of the reports. Returns how many."""
    return forgettable_bounces(now=now).delete()[0]


def forgettable_bounces(*, now: datetime) -> "QuerySet[Bounce]":
    """Reports that prove nothing and are 30 days old, and all others of two years."""
    return Bounce.objects.filter(Q(delivery=None, at__lt=now - KEEP_UNPROVEN) | Q(at__lt=now - KEEP))


@transaction.atomic
def _released(bounce: Bounce, suppressing: bool, now: datetime) -> bool:
    effect = "Suppressed by hand." if suppressing else LET_BE
    if not Bounce.objects.filter(pk=bounce.pk, held=True).update(held=False, effect=effect):
        return False
    if suppressing and bounce.destination:
        _suppress(bounce, bounce.destination, NOTHING_ARRIVES, now)
    return True


def _record(digest: str, facts: dict[str, Any]) -> Taken:
    bounce, is_new = Bounce.objects.get_or_create(digest=digest, defaults=facts)
    effect = bounce.effect if is_new else "Known already."
    if is_new:
        transaction.on_commit(lambda: count("bounces", bounce.kind))
    return Taken(bounce.kind, effect, bounce, is_new)


def _unproven(report: BounceReport, now: datetime) -> dict[str, Any]:
    finding = report.findings[0] if report.findings else Finding(BounceKind.UNKNOWN)
    return {
        "kind": BounceKind.UNKNOWN.value,
        "status": finding.status[:16],
        "diagnostic": finding.diagnostic or report.words,
        "recipient": _named(finding),
        "at": now,
        "effect": UNPROVEN,
    }


def _named(finding: Finding) -> str:
    return finding.addresses[0] if finding.addresses else ""


# --- what is proven


def _proven(report: BounceReport, recipient: str) -> tuple[Delivery | None, Finding]:
    """The delivery it is about, and what it says of that one."""
    for token in (*tokens(recipient.encode()), *report.tokens):
        if is_ours(token) and (delivery := _delivery(token.delivery_id)):
            return delivery, _of_delivery(report.findings, delivery)
    for mark in report.marks:
        delivery = _delivery(mark.delivery_id)
        named = delivery and _naming(report.findings, delivery)
        if delivery and named and _is_mark(mark.mark, delivery):
            return delivery, named
    return None, Finding(BounceKind.UNKNOWN)


def _delivery(pk: int) -> Delivery | None:
    rows = Delivery.objects.select_related("destination", "issue", "subscription")
    return rows.defer("issue__html", "issue__text", "context").filter(pk=pk, lane__kind="email").first()


def _is_mark(mark: str, delivery: Delivery) -> bool:
    # Only an issue's token is random enough to keep a Message-ID from being guessed.
    return delivery.issue is not None and hmac.compare_digest(
        mark, message_mark(delivery.issue.token, delivery.pk)
    )


def _of_delivery(findings: Sequence[Finding], delivery: Delivery) -> Finding:
    """Each letter has one recipient. Where the report names others, that one was an alias: it works as
    long as one of them does."""
    named = _naming(findings, delivery)
    if named or not findings:
        return named or Finding(BounceKind.UNKNOWN)
    kind = mildest(finding.kind for finding in findings)
    return next(finding for finding in findings if finding.kind is kind)


def _naming(findings: Sequence[Finding], delivery: Delivery) -> Finding | None:
    core = delivery.destination.core
    return next((one for one in findings if core in map(_core, one.addresses)), None)


def _core(address: str) -> str:
    try:
        return channels.get("email").parse_destination({"email": address}).core
    except InvalidDestination:
        return ""


# --- what follows


def _acted(bounce: Bounce, kind: BounceKind, known: History) -> Taken:
    assert bounce.destination is not None  # noqa: S101 - for the type checker
    decision, effect = act(kind, known)
    if decision is Act.SUPPRESS:
        _suppress(bounce, bounce.destination, effect, bounce.at)
    if kind is BounceKind.COMPLAINT and bounce.delivery and bounce.delivery.subscription:
        leave(subscription=bounce.delivery.subscription, now=bounce.at)
    bounce.effect, bounce.held = effect, decision is Act.HOLD
    bounce.save(update_fields=["effect", "held"])
    return Taken(bounce.kind, effect, bounce)


def _hold_earlier(bounce: Bounce) -> None:
    """Those that were believed before there were so many wait for a person like the others."""
    earlier = list(of_the_hour(bounce).filter(effect=NOTHING_ARRIVES).select_related("destination"))
    made = Suppression.objects.filter(
        core__in=[one.destination.core for one in earlier if one.destination],
        created_at__in=[one.at for one in earlier],
        reason__startswith=NOTHING_ARRIVES,
    )
    lift(suppressions=made)
    Bounce.objects.filter(pk__in=[one.pk for one in earlier]).update(effect=HELD, held=True)


def _suppress(bounce: Bounce, destination: Destination, reason: str, now: datetime) -> None:
    said = f"{reason} The server said: {bounce.diagnostic}" if bounce.diagnostic else reason
    if suppress(kind=destination.kind, core=destination.core, reason=said, now=now):
        log.info("suppressed", extra={"delivery": bounce.delivery_id, "kind": bounce.kind})
