"""Pause domains and newsletters after refusals (5.7.x) or many unknown addresses (5.1.x).

Refusals caused by us delay domains and pause issues, and blame no reader.

Runs in the caller's transaction, after it locked deliveries, destinations and lanes. Reads few rows, and only
after such an answer.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from channels.base import Holdup, Temporary
from channels.rules.meaning import Meaning, advice
from channels.rules.refusals import (
    LARGE_DOMAINS,
    LAST_LETTERS,
    RECIPIENTS_SAMPLED,
    Answers,
    doubts_us,
    is_about_identity,
    is_refusal,
    large,
    may_matter,
    refuses,
    stops_newsletter,
)
from common.admin.html import when
from delivery.issues.pause import LONGEST_PAUSE_REASON, pause_newsletter
from delivery.lanes.lanes import Stop, back_off
from delivery.lanes.limits import pause_domain
from delivery.models import Bounce, Delivery, Issue, LaneDomain
from delivery.models.delivery import PENDING_STATES
from delivery.rules.bounce_policy import ABOUT_OUR_MAIL, BounceKind
from delivery.rules.progress import (
    LONGEST_REFUSAL,
    domain_rests_until,
    is_everybodys,
    is_over,
    refuses_sender,
)

log = logging.getLogger(__name__)

ANSWERED = (Delivery.State.SENT, Delivery.State.FAILED)
# Letters are sent nearly in key order, so search near a letter: more rows only if too few are of the domain.
# In 1,000,000 rows that takes 1 ms and 40 ms.
REACHES = (20_000, 100_000)
AHEAD = 2_000
ENOUGH_LETTERS = 100
# Most letters counted for a refused sender.
SENDER_SAMPLE = 500
# Starts the reason of an automatic pause; admins are notified.
BY_ITSELF = "By itself: "
REFUSED = f"{BY_ITSELF}it refused"
DENIED = f"{BY_ITSELF}it said “no such address”"
# Effects of refusals before and after a pause. They do not cause another one.
DOMAIN_PAUSED = f"{ABOUT_OUR_MAIL} Sending to this domain is paused."
NEWSLETTER_PAUSED = f"{ABOUT_OUR_MAIL} The newsletter is paused."


def letters_since(*, near: Delivery, most: int, since: datetime) -> list[int]:
    """Return keys of the last letters to this domain and lane that were answered since then."""
    last = _last(near, most)
    failed = [pk for pk, sent_at in last if sent_at is None]
    # A failure's time is in its report.
    reports = Bounce.objects.filter(delivery__in=failed, at__gt=since).order_by()
    lately = set(reports.values_list("delivery", flat=True)) if failed else set()
    return [pk for pk, sent_at in last if (sent_at > since if sent_at else pk in lately)]


def _last(near: Delivery, most: int) -> list[tuple[int, datetime | None]]:
    """Return keys of the last letters, newest first, and times of sending, None if failed."""
    rows = Delivery.objects.filter(lane=near.lane_id, domain=near.domain, state__in=ANSWERED)
    found: list[tuple[int, datetime | None]] = []
    for reach in REACHES:
        piece = rows.filter(pk__gt=near.pk - reach, pk__lte=near.pk + AHEAD)
        found = list(piece.order_by("-pk").values_list("pk", "sent_at")[:most])
        if len(found) >= ENOUGH_LETTERS:
            break
    return found


def on_refusals(*, bounces: Iterable[Bounce], now: datetime) -> None:
    """Apply pauses after refusals that were just recorded."""
    alike: dict[tuple[int, str, int], list[Bounce]] = defaultdict(list)
    for bounce in bounces:
        if (
            bounce.delivery
            and bounce.domain
            and bounce.kind == BounceKind.POLICY
            and is_refusal(bounce.status)
        ):
            alike[(bounce.delivery.lane_id, bounce.domain, bounce.delivery.issue_id or 0)].append(bounce)
    for _, group in sorted(alike.items()):
        delivery = group[-1].delivery
        assert delivery is not None  # noqa: S101 - for the type checker
        _on_refusals_of_domain(group, delivery, now)


def on_refused_sender(*, delivery: Delivery, said: str, now: datetime) -> None:
    """Pause the newsletter if the server rejects its sender before any recipient."""
    if delivery.issue_id is not None:
        cause = "the mail server does not believe who it is from"
        _pause_newsletter(delivery.issue_id, cause, said, now)


def pause_denying(*, bounce: Bounce, now: datetime) -> bool:
    """Pause a domain that denies too many addresses. Return False if already paused."""
    assert bounce.delivery is not None  # noqa: S101 - for the type checker
    reason = (
        f"{DENIED} more often within an hour than can be true ({when(now)}). None of them was put on the"
        f" suppression list; their bounces are held for you. The server said: {bounce.diagnostic}"
    )
    return pause_domain(lane_id=bounce.delivery.lane_id, domain=bounce.domain, reason=reason, now=now)


def pause_cause(reason: str) -> str:
    """Return the reason to follow a colon."""
    return reason.removeprefix(BY_ITSELF)


def denies(*, lane_id: int, domain: str) -> bool:
    """Return whether the domain is paused for denying too many addresses."""
    rows = LaneDomain.objects.filter(lane=lane_id, domain=domain, paused=True)
    return rows.filter(paused_reason__startswith=DENIED).exists()


def _on_refusals_of_domain(group: Sequence[Bounce], delivery: Delivery, now: datetime) -> None:
    """Handle refusals of one domain and issue; `delivery` is the last."""
    issue_id, domain = delivery.issue_id, delivery.domain
    # Sent before the pause.
    is_paused = LaneDomain.objects.filter(lane=delivery.lane_id, domain=domain, paused=True).exists()
    stopped = Issue.objects.filter(subscribable__sending_paused_at__isnull=False)
    if is_paused or (issue_id is not None and stopped.filter(pk=issue_id).exists()):
        effect = DOMAIN_PAUSED if is_paused else NEWSLETTER_PAUSED
        Bounce.objects.filter(pk__in=[one.pk for one in group]).update(effect=effect)
        return
    # Search letters only if enough refusals had no effect yet.
    rows = Bounce.objects.filter(domain=domain, kind=BounceKind.POLICY, effect=ABOUT_OUR_MAIL)
    if not may_matter(list(rows.order_by("-at").values_list("status", flat=True)[:LAST_LETTERS])):
        return
    letters, answers = _last_answers(delivery)
    if not (refuses(answers) or doubts_us(answers)):
        return
    said = group[-1].diagnostic
    if issue_id is not None and _stops_newsletter(delivery, answers):
        cause = (
            f"{domain} does not believe who it is from. Look at SPF, DKIM and DMARC (check_mail)"
            if doubts_us(answers)
            else f"{LARGE_DOMAINS} large domains refuse it, {domain} among them"
        )
        _pause_newsletter(issue_id, cause, said, now)
        _mark(letters, NEWSLETTER_PAUSED)
    if refuses(answers):
        reason = (
            f"{REFUSED} {answers.refused} of the last {answers.count} emails ({when(now)}). "
            f"The server said: {said}"
        )
        if pause_domain(lane_id=delivery.lane_id, domain=domain, reason=reason, now=now):
            log.warning("emails to a domain were paused", extra={"domain": domain})
        _mark(letters, DOMAIN_PAUSED)


def _last_answers(delivery: Delivery) -> tuple[list[int], Answers]:
    """Return the last letters, without an earlier pause's, and their answers."""
    about_us = Bounce.objects.filter(
        domain=delivery.domain,
        kind=BounceKind.POLICY,
        effect=ABOUT_OUR_MAIL,
        delivery__lane=delivery.lane_id,
        delivery__state__in=PENDING_STATES,
    )
    waiting = about_us.order_by("-at").values_list("delivery", flat=True)[:LAST_LETTERS]
    last = list(dict.fromkeys([*waiting, *(pk for pk, _ in _last(delivery, LAST_LETTERS))]))
    rows = Bounce.objects.filter(delivery__in=last, kind=BounceKind.POLICY)
    refused: dict[int | None, bool] = {}
    settled: set[int | None] = set()
    for letter, reader, status, effect in rows.values_list("delivery", "destination", "status", "effect"):
        if effect != ABOUT_OUR_MAIL:
            settled.add(letter)
        elif is_refusal(status):
            refused[reader] = refused.get(reader, False) or is_about_identity(status)
    letters = [pk for pk in last if pk not in settled]
    return letters, Answers(len(letters), len(refused), sum(refused.values()))


def _stops_newsletter(delivery: Delivery, answers: Answers) -> bool:
    # Recipients in an order unrelated to results.
    recipients = Delivery.objects.filter(issue=delivery.issue_id).order_by("destination")
    shares = large(list(recipients.values_list("domain", flat=True)[:RECIPIENTS_SAMPLED]))
    others = LaneDomain.objects.filter(lane=delivery.lane_id, domain__in=list(shares), paused=True)
    refusing = others.filter(paused_reason__startswith=REFUSED).exclude(domain=delivery.domain).count()
    return stops_newsletter(
        answers, is_large=delivery.domain in shares, large_that_refuse=refusing + refuses(answers)
    )


def _pause_newsletter(issue_id: int, cause: str, said: str, now: datetime) -> None:
    newsletter = Issue.objects.values_list("subscribable", flat=True).get(pk=issue_id)
    reason = f"{BY_ITSELF}{cause} ({when(now)}). The server said: {said}"
    if pause_newsletter(subscribable_id=newsletter, reason=reason, now=now):
        log.warning("a newsletter was paused: %s", cause, extra={"subscribable": newsletter})


def _mark(letters: Sequence[int], effect: str) -> None:
    rows = Bounce.objects.filter(delivery__in=letters, kind=BounceKind.POLICY, effect=ABOUT_OUR_MAIL)
    rows.update(effect=effect)


@dataclass(frozen=True, slots=True)
class HeldLetter:
    """Letter that waits because of us."""

    delivery_id: int
    issue_id: int | None
    lane_id: int
    domain: str
    outcome: Temporary
    claimed_at: datetime
    at: datetime


def on_holdups(held: Sequence[HeldLetter]) -> None:
    """Delay or pause what these letters concern."""
    domains: dict[tuple[int, str], list[HeldLetter]] = defaultdict(list)
    issues: dict[tuple[Holdup, int], list[HeldLetter]] = defaultdict(list)
    for one in held:
        if one.outcome.holdup is Holdup.DOMAIN:
            domains[(one.lane_id, one.domain)].append(one)
        elif one.outcome.holdup is not None and one.issue_id is not None:
            issues[(one.outcome.holdup, one.issue_id)].append(one)
    _rest_domains(domains)
    for (holdup, issue_id), group in sorted(issues.items()):
        last = group[-1]
        if holdup is Holdup.SENDER:
            _on_refused_sender(issue_id, last)
        elif Delivery.objects.filter(issue=issue_id, state=Delivery.State.SENT).exists():
            # Others accepted this size: only these wait.
            rows = Delivery.objects.filter(pk__in=[one.delivery_id for one in group])
            rows.filter(state=Delivery.State.QUEUED).update(state=Delivery.State.HELD)
        else:
            reason = f"{BY_ITSELF}it is too large. {advice(Meaning.SIZE)} The server said: {_said(last)}"
            running = Issue.objects.filter(pk=issue_id, paused_at=None, cancelled_at=None)
            if running.update(paused_at=last.at, paused_reason=reason[:LONGEST_PAUSE_REASON]):
                log.warning("an issue was paused: %s", last.outcome.text, extra={"issue": issue_id})


def _rest_domains(domains: Mapping[tuple[int, str], Sequence[HeldLetter]]) -> None:
    """Delay domains, and lanes that reach nobody."""
    for _, group in sorted(domains.items()):
        last = group[-1]
        row, _ = LaneDomain.objects.get_or_create(
            lane_id=last.lane_id, domain=last.domain, defaults={"refilled_at": last.at}
        )
        if row.paused:
            continue
        row.last_error = last.outcome.text
        # Letters claimed before the present rest say what is known.
        if row.free_at is None or row.free_at <= max(one.claimed_at for one in group):
            if row.refused_since is None or is_over(row.free_at, last.at):
                row.failures, row.refused_since = 0, last.at
                log.warning("emails to a domain wait: %s", row.last_error, extra={"domain": row.domain})
            row.failures += 1
            row.free_at = domain_rests_until(row.failures, last.at)
        row.save(update_fields=["last_error", "failures", "refused_since", "free_at"])
        if row.refused_since and last.at - row.refused_since > LONGEST_REFUSAL:
            said = f"{REFUSED} every email since {when(row.refused_since)}. The server said: {row.last_error}"
            pause_domain(lane_id=last.lane_id, domain=last.domain, reason=said, now=last.at)
    stops = {}
    for last in (group[-1] for group in domains.values()):
        rows = LaneDomain.objects.filter(lane=last.lane_id, free_at__gt=last.at, refused_since__isnull=False)
        letters = Delivery.objects.filter(issue=last.issue_id, state=Delivery.State.SENT)
        sent = last.issue_id is None or letters.exists()
        if is_everybodys(rows.count(), sent=sent):
            stops[last.lane_id] = Stop(
                lane_id=last.lane_id,
                text=last.outcome.text.replace(Holdup.DOMAIN, "Every domain refuses our email"),
                retry_at=None,
                claimed_at=last.claimed_at,
                at=last.at,
                is_about_us=True,
            )
    if stops:
        back_off(stops=list(stops.values()), sent=(), now=None)


def _on_refused_sender(issue_id: int, last: HeldLetter) -> None:
    """Pause the newsletter if enough letters report a refused sender."""
    letters = Delivery.objects.filter(issue=issue_id)
    refused = letters.filter(state=Delivery.State.DEFERRED, last_error__startswith=Holdup.SENDER)
    domains = list(refused.values_list("domain", flat=True)[:SENDER_SAMPLE])
    untried = letters.filter(state__in=(Delivery.State.QUEUED, Delivery.State.SENDING))
    sent = letters.filter(state=Delivery.State.SENT).order_by().values("pk")[:SENDER_SAMPLE].count()
    if not refuses_sender(frozenset(domains), refused=len(domains), sent=sent, untried=untried.exists()):
        return
    reason = (
        f"{BY_ITSELF}its sender is refused ({when(last.at)}). {advice(Meaning.SENDER)} "
        f"The server said: {_said(last)}"
    )
    newsletter = Issue.objects.values_list("subscribable", flat=True).get(pk=issue_id)
    if pause_newsletter(subscribable_id=newsletter, reason=reason, now=last.at):
        log.warning("a newsletter was paused: %s", _said(last), extra={"subscribable": newsletter})


def _said(held: HeldLetter) -> str:
    return held.outcome.text.removeprefix(f"{held.outcome.holdup}: ")
