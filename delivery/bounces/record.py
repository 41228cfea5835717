"""Record reports and services' events: check their proof, act on the address. Idempotent.

Anyone can send a report to a return address. It counts only with our signed return address, or a Message-ID
and the right recipient.
"""

import hashlib
import hmac
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from anymail.signals import EventType
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Q, QuerySet

from channels.base import Holdup, Permanent, Temporary
from channels.email.account_url import parse_email_url
from channels.email.esp.message_form import delivery_of
from channels.email.esp.settings import EspSettings
from channels.email.headers import is_ours
from channels.email.letter_form import message_mark
from channels.rules.meaning import Concern
from channels.rules.refusals import is_about_identity, is_refusal
from channels.rules.server_words import precise
from channels.rules.verp import tokens
from common.clock import utcnow
from common.counters import count
from common.mail.parts import Unreadable
from common.ports.events import Event, EventKind, emit
from common.text import one_line
from delivery.accounts.accounts import secret_url
from delivery.bounces.domain_refusals import on_refusals, on_refused_sender, pause_denying
from delivery.bounces.fields import MAX_ADDRESS, BounceFinding, clean
from delivery.bounces.history import KnownDomains, history, of_the_hour
from delivery.bounces.parsing import BounceReport, read_report, report_digest
from delivery.bounces.service_events import read_event, verdict_of
from delivery.bounces.service_verdicts import COMPLAINT, DELAYED, LEAVES, NOTHING, POLICY
from delivery.lanes.lanes import lock_lanes
from delivery.models import Account, Bounce, Delivery
from delivery.rules.bounce_policy import (
    HELD,
    LET_BE,
    NOTHING_ARRIVES,
    Act,
    BounceKind,
    act,
    is_no_such_address,
    mildest,
)
from subscriptions.models import Destination, Suppression
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.suppression import email_core, lift, suppress

log = logging.getLogger(__name__)

# For other apps. A delayed letter may still arrive.
BOUNCED = (BounceKind.HARD, BounceKind.SOFT, BounceKind.POLICY, BounceKind.COMPLAINT)
IGNORED = (BounceKind.AUTO_REPLY, BounceKind.ARRIVED)
UNPROVEN = "Ignored: it doesn’t prove which email it is about."
KEEP_UNPROVEN = timedelta(days=30)
KEEP = timedelta(days=730)
# Log an unknown type once: services send the same event for thousands of letters.
_unknown_types: set[tuple[str, str]] = set()
MOST_UNKNOWN_TYPES = 200
# By anymail's types, for events missing in the table.
_BY_ANYMAIL = {
    EventType.COMPLAINED: COMPLAINT,
    EventType.DEFERRED: DELAYED,
    EventType.UNSUBSCRIBED: LEAVES,
    **dict.fromkeys((EventType.REJECTED, EventType.FAILED, EventType.BOUNCED), POLICY),
}
_OF_READER = {Concern.ADDRESS: BounceKind.HARD, Concern.MAILBOX: BounceKind.SOFT}


@dataclass(frozen=True, slots=True)
class Taken:
    """Kind, sentence, and row if there is one."""

    kind: str
    effect: str
    bounce: Bounce | None = None
    is_new: bool = True
    is_refused: bool = False


def take_report(*, raw: bytes, now: datetime, recipient: str = "") -> Taken:
    """Record a returned mail; `recipient` is the envelope's."""
    try:
        report = read_report(raw)
    except Unreadable as error:
        report = BounceReport(BounceKind.UNKNOWN, (), (), (), str(error))
    if report.kind in IGNORED:
        return Taken(report.kind.value, "Ignored.")
    delivery, finding = _proven(report, recipient)
    if delivery is None:
        finding = report.findings[0] if report.findings else BounceFinding(BounceKind.UNKNOWN)
        return _record(
            report_digest(raw),
            {
                "kind": BounceKind.UNKNOWN.value,
                "status": finding.status[:16],
                "diagnostic": finding.diagnostic or report.words,
                "recipient": _named(finding),
                "at": now,
                "effect": UNPROVEN,
            },
        )
    if finding.kind in IGNORED:
        return Taken(finding.kind.value, "Ignored.")
    known = report_digest(raw, delivery.pk)
    return take_finding(delivery=delivery, finding=finding, digest=known, now=now, words=report.words)


@transaction.atomic
def take_finding(
    *, delivery: Delivery, finding: BounceFinding, digest: str, now: datetime, words: str = ""
) -> Taken:
    """Record a finding about a delivery and its consequences.

    `digest`: at most 64 characters. A repeated one changes nothing.
    """
    taken = take_down(delivery=delivery, finding=finding, digest=digest, now=now, words=words)
    lock_lanes(lanes_concerned([taken]))
    follow_up(taken=[taken], now=now)
    return taken


def take_down(
    *,
    delivery: Delivery,
    finding: BounceFinding,
    digest: str,
    now: datetime,
    words: str = "",
    tried_at: datetime | None = None,
    known_domains: KnownDomains | None = None,
) -> Taken:
    """Do the part of `take_finding` about the address, in the caller's transaction.

    `tried_at`: time of the attempt, for a server's direct answer. `known_domains`: one object per
    transaction.
    """
    # One at a time: each report must see the days of earlier ones.
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
    known_domains = known_domains or KnownDomains()
    known = history(bounce=taken.bounce, tried_at=tried_at, known_domains=known_domains)
    bounce, (decision, effect) = taken.bounce, act(finding.kind, known)
    if decision is Act.SUPPRESS:
        _suppress(bounce, destination, effect, now)
    if finding.kind is BounceKind.COMPLAINT and delivery.subscription:
        leave(subscription=delivery.subscription, now=now)
    bounce.effect, bounce.held = effect, decision is Act.HOLD
    bounce.save(update_fields=["effect", "held"])
    if bounce.held:
        known_domains.counts.pop((delivery.lane_id, delivery.domain), None)
        known_domains.denying.add((delivery.lane_id, delivery.domain))
    return Taken(bounce.kind, effect, bounce)


def lanes_concerned(taken: Iterable[Taken]) -> set[int]:
    """Return lanes to lock for `follow_up`, after all destinations."""
    return {
        bounce.delivery.lane_id
        for bounce in _fresh(taken)
        if bounce.delivery and (_is_denial(bounce) or is_refusal(bounce.status))
    }


def follow_up(*, taken: Iterable[Taken], now: datetime) -> None:
    """Do the part of `take_finding` about domains and newsletters.

    The caller has locked `lanes_concerned`, so that workers see each other's pauses. Lock no destination or
    lane afterwards.
    """
    fresh = _fresh(taken)
    emit(Event(EventKind.BOUNCED, tuple(one.pk for one in fresh if one.kind in BOUNCED), now))
    denials = {(one.delivery.lane_id, one.domain): one for one in fresh if one.delivery and _is_denial(one)}
    for _, bounce in sorted(denials.items()):
        if pause_denying(bounce=bounce, now=now):
            log.warning("a domain denies too many addresses", extra={"domain": bounce.domain})
        # The first denials suppressed their addresses: hold these, too.
        earlier = list(of_the_hour(bounce).filter(effect=NOTHING_ARRIVES).select_related("destination"))
        made = Suppression.objects.filter(
            core__in=[one.destination.core for one in earlier if one.destination],
            created_at__in=[one.at for one in earlier],
            reason__startswith=NOTHING_ARRIVES,
        )
        lift(suppressions=made)
        Bounce.objects.filter(pk__in=[one.pk for one in earlier]).update(effect=HELD, held=True)
    on_refusals(bounces=fresh, now=now)


def _fresh(taken: Iterable[Taken]) -> list[Bounce]:
    return [one.bounce for one in taken if one.is_new and one.bounce is not None]


def _is_denial(bounce: Bounce) -> bool:
    return bounce.held and bounce.kind == BounceKind.HARD


def release_bounces(*, bounces: Iterable[Bounce], suppressing: bool, now: datetime) -> int:
    """Suppress held bounces' addresses, or not. Return how many."""
    held = Bounce.objects.filter(pk__in=[bounce.pk for bounce in bounces], held=True)
    effect = "Suppressed by hand." if suppressing else LET_BE
    count = 0
    for bounce in held.select_related("destination").order_by("pk"):
        with transaction.atomic():
            decided = Bounce.objects.filter(pk=bounce.pk, held=True).update(held=False, effect=effect)
            if decided and suppressing and bounce.destination:
                _suppress(bounce, bounce.destination, NOTHING_ARRIVES, now)
        count += decided
    return count


def prune_bounces(*, now: datetime) -> int:
    return forgettable_bounces(now=now).delete()[0]


def forgettable_bounces(*, now: datetime) -> "QuerySet[Bounce]":
    """Return unproven reports of 30 days, others of two years."""
    return Bounce.objects.filter(Q(delivery=None, at__lt=now - KEEP_UNPROVEN) | Q(at__lt=now - KEEP))


def _record(digest: str, facts: dict[str, Any]) -> Taken:
    bounce, is_new = Bounce.objects.get_or_create(digest=digest, defaults=facts)
    effect = bounce.effect if is_new else "Known already."
    if is_new:
        transaction.on_commit(lambda: count("bounces", bounce.kind))
    return Taken(bounce.kind, effect, bounce, is_new)


def _named(finding: BounceFinding) -> str:
    return finding.addresses[0] if finding.addresses else ""


# --- proof


def _proven(report: BounceReport, recipient: str) -> tuple[Delivery | None, BounceFinding]:
    """Return the proven delivery, and the finding about its recipient."""
    for token in (*tokens(recipient.encode()), *report.tokens):
        if is_ours(token) and (delivery := _delivery(token.delivery_id)):
            named = _naming(report.findings, delivery)
            if named or not report.findings:
                return delivery, named or BounceFinding(BounceKind.UNKNOWN)
            # If the report names others, our one recipient was an alias, which works as long as one of them
            # does.
            kind = mildest(finding.kind for finding in report.findings)
            return delivery, next(finding for finding in report.findings if finding.kind is kind)
    for mark in report.marks:
        delivery = _delivery(mark.delivery_id)
        # Only issue tokens are random enough against guessing.
        if delivery is not None and delivery.issue is not None:
            known = message_mark(delivery.issue.token, delivery.pk)
            named = _naming(report.findings, delivery)
            if named and hmac.compare_digest(mark.mark, known):
                return delivery, named
    return None, BounceFinding(BounceKind.UNKNOWN)


def _delivery(pk: int) -> Delivery | None:
    rows = Delivery.objects.select_related("destination", "issue", "subscription")
    return rows.defer("issue__html", "issue__text", "context").filter(pk=pk, lane__kind="email").first()


def _naming(findings: Sequence[BounceFinding], delivery: Delivery) -> BounceFinding | None:
    """Return the finding about the delivery's address."""
    core = delivery.destination.core
    return next((one for one in findings if core in map(email_core, one.addresses)), None)


def _suppress(bounce: Bounce, destination: Destination, reason: str, now: datetime) -> None:
    said = f"{reason} The server said: {bounce.diagnostic}" if bounce.diagnostic else reason
    if suppress(kind=destination.kind, core=destination.core, reason=said, now=now):
        log.info("suppressed", extra={"delivery": bounce.delivery_id, "kind": bounce.kind})


def parse_event(event: Any, service: str) -> tuple[BounceFinding | None, bool]:
    """Return what an AnymailTrackingEvent found, and whether the person leaves."""
    facts = read_event(service, event)
    verdict = verdict_of(service, facts)
    if verdict is None:
        unknown = (service, facts.type)
        if unknown not in _unknown_types and len(_unknown_types) < MOST_UNKNOWN_TYPES:
            _unknown_types.add(unknown)
            log.warning("%s sent an event of an unknown type: %r", service, facts.type)
        verdict = _BY_ANYMAIL.get(event.event_type, NOTHING)
    if verdict.kind is None or verdict.kind in IGNORED:
        return None, verdict.leaves
    parts = (str(part) for part in (event.mta_response, event.description, facts.words) if part)
    unique = dict.fromkeys(parts)
    words = [part for part in unique if not any(part != other and part in other for other in unique)]
    address = one_line(str(event.recipient or ""))[:MAX_ADDRESS]
    status = precise(facts.status, facts.words)[:16]
    addresses = (address,) if address else ()
    return BounceFinding(verdict.kind, addresses, status, clean(" — ".join(words))), False


def event_digest(event: Any, kind: BounceKind, service: str, delivery_id: int) -> str:
    """Return a digest for deduplication. All delays of a letter share one row."""
    identity: tuple[object, ...] = (event.event_type, event.event_id)
    if kind is BounceKind.DELAYED:
        identity = (EventType.DEFERRED,)
    elif not event.event_id:
        identity = (event.event_type, event.timestamp, event.mta_response, event.description)
    text = "\0".join(map(str, (service, delivery_id, *identity)))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def on_tracking(sender: Any, event: Any, esp_name: str, **_: Any) -> None:
    """Handle anymail's signal. Raises database errors, so that the service retries."""
    finding, leaves = parse_event(event, esp_name)
    if finding is None and not leaves:
        return
    rows = Delivery.objects.select_related("destination", "subscription").defer("context")
    rows = rows.filter(lane__kind="email")
    pk = delivery_of(event.metadata if isinstance(event.metadata, dict) else {})
    if pk is not None:
        delivery = rows.filter(pk=pk).first()
    else:
        # Two services omit our metadata: use the message id, which is secret, and the recipient.
        core = email_core(str(event.recipient or ""))
        sent = rows.filter(destination__kind="email", destination__core=core)
        known = bool(core and event.message_id)
        delivery = sent.filter(remote_id=str(event.message_id)[:255]).first() if known else None
    if delivery is None:
        log.info("a mail service reported an email that is not ours", extra={"event": event.event_type})
    elif finding is not None:
        digest = event_digest(event, finding.kind, esp_name, delivery.pk)
        take_finding(delivery=delivery, finding=finding, digest=digest, now=utcnow())
    elif delivery.subscription is not None:
        leave(subscription=delivery.subscription, now=utcnow())


def accounts_with(esp: str) -> Iterator[EspSettings]:
    """Return accounts with this service, except unreadable ones."""
    for url in (settings.EMAIL_URL, *map(secret_url, Account.objects.mail().order_by("pk"))):
        try:
            target = parse_email_url(url)
        except ImproperlyConfigured:
            continue
        if isinstance(target, EspSettings) and target.esp == esp:
            yield target


@dataclass(frozen=True, slots=True)
class SmtpRefusal:
    """Refusal with an enhanced code or plain words; `token`: the claim's."""

    delivery: Delivery
    token: UUID
    outcome: Permanent | Temporary
    at: datetime

    @property
    def kind(self) -> BounceKind | None:
        """Return the kind of bounce, or None if only the delivery is concerned."""
        outcome = self.outcome
        policy = BounceKind.POLICY if is_refusal(outcome.status) else None
        if isinstance(outcome, Temporary):
            return policy if outcome.holdup is Holdup.DOMAIN else None
        if outcome.meaning is not None:
            return _OF_READER.get(outcome.meaning.concern, policy)
        return BounceKind.HARD if is_no_such_address(outcome.status, outcome.text) else policy

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"answer:{self.delivery.pk}:{self.token}".encode()).hexdigest()


def take_answers(answers: Iterable[SmtpRefusal]) -> list[Taken]:
    """Record refusals in the caller's transaction. Locks destinations, in order."""
    known_domains = KnownDomains()
    ordered = sorted(answers, key=lambda answer: answer.delivery.destination_id)
    return [
        take_down(
            delivery=answer.delivery,
            finding=BounceFinding(
                answer.kind, (answer.delivery.destination.core,), answer.outcome.status, answer.outcome.text
            ),
            digest=answer.digest,
            now=answer.at,
            tried_at=answer.at,
            known_domains=known_domains,
        )
        for answer in ordered
        if answer.kind
    ]


def follow_answers(answers: Sequence[SmtpRefusal], taken: Sequence[Taken]) -> None:
    """Apply pauses. Lock no destination or lane afterwards."""
    if taken:
        follow_up(taken=taken, now=max(answer.at for answer in answers))
    for answer in answers:
        outcome = answer.outcome
        # One domain's doubts are not enough.
        is_servers = isinstance(outcome, Temporary) and outcome.holdup is not Holdup.DOMAIN
        if is_servers and is_about_identity(outcome.status):
            on_refused_sender(delivery=answer.delivery, said=answer.outcome.text, now=answer.at)
