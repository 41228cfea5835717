"""Refusals caused by us: delay domains, pause issues and newsletters, blame no reader.

Runs in the caller's transaction, which has locked the lanes.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from channels.base import Holdup, Temporary
from channels.rules.meaning import Meaning, advice
from common.admin.html import when
from delivery.bounces.domain_refusals import BY_ITSELF, REFUSED
from delivery.issues.pause import LONGEST_PAUSE_REASON, pause_newsletter
from delivery.lanes.backoff import Stop, back_off
from delivery.lanes.settings import pause_domain
from delivery.models import Delivery, Issue, LaneDomain
from delivery.rules.holdups import LONGEST_REFUSAL, domain_rests_until, is_everybodys, is_over, refuses_sender

log = logging.getLogger(__name__)

# Most letters counted for a refused sender.
SENDER_SAMPLE = 500


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
