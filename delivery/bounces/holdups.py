"""Refusals that are about us: domains rest, issues and newsletters are paused, and no reader is blamed.

All of it is part of the caller's transaction, with the lanes concerned locked.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from common.admin.html import when
from delivery.bounces.domain_refusals import BY_ITSELF, REFUSED
from delivery.channels.base import Holdup, Temporary
from delivery.issues.pause import LONGEST_REASON, pause_newsletter
from delivery.lanes.backoff import Stop, back_off
from delivery.lanes.settings import pause_domain
from delivery.models import Delivery, Issue, LaneDomain
from delivery.rules.holdups import (
    LONGEST_REFUSAL,
    advice,
    is_everybodys,
    is_over,
    refuses_sender,
    rests_until,
)
from delivery.rules.meaning import Meaning

log = logging.getLogger(__name__)

# So many letters whose sender was refused tell enough.
SAMPLE = 500


@dataclass(frozen=True, slots=True)
class Held:
    """A letter that waits for something of ours."""

    delivery_id: int
    issue_id: int | None
    lane_id: int
    domain: str
    outcome: Temporary
    claimed_at: datetime
    at: datetime


def on_holdups(held: Sequence[Held]) -> None:
    """Lets rest, or pauses, what these letters wait for; they have just been recorded."""
    domains: dict[tuple[int, str], list[Held]] = defaultdict(list)
    issues: dict[tuple[Holdup, int], list[Held]] = defaultdict(list)
    for one in held:
        if one.outcome.holdup is Holdup.DOMAIN:
            domains[(one.lane_id, one.domain)].append(one)
        elif one.outcome.holdup is not None and one.issue_id is not None:
            issues[(one.outcome.holdup, one.issue_id)].append(one)
    for _, group in sorted(domains.items()):
        _rest_domain(group)
    _rest_lanes(group[-1] for group in domains.values())
    for (holdup, issue_id), group in sorted(issues.items()):
        if holdup is Holdup.SENDER:
            _heed_sender(issue_id, group[-1])
        else:
            _hold_issue(issue_id, group)


# --- domains


def _rest_domain(group: Sequence[Held]) -> None:
    last = group[-1]
    row, _ = LaneDomain.objects.get_or_create(
        lane_id=last.lane_id, domain=last.domain, defaults={"refilled_at": last.at}
    )
    if row.paused:
        return
    row.last_error = last.outcome.text
    # (Another connection has said so already, of what was claimed before the rest that goes on now.)
    if row.free_at is None or row.free_at <= max(one.claimed_at for one in group):
        if row.refused_since is None or is_over(row.free_at, last.at):
            row.failures, row.refused_since = 0, last.at
            log.warning("letters to a domain wait: %s", row.last_error, extra={"domain": row.domain})
        row.failures += 1
        row.free_at = rests_until(row.failures, last.at)
    row.save(update_fields=["last_error", "failures", "refused_since", "free_at"])
    if row.refused_since and last.at - row.refused_since > LONGEST_REFUSAL:
        said = f"{REFUSED} every letter since {when(row.refused_since)}. The server said: {row.last_error}"
        pause_domain(lane_id=last.lane_id, domain=last.domain, reason=said, now=last.at)


def _rest_lanes(held: Iterable[Held]) -> None:
    """Those by which nobody is reached any more."""
    stops = {}
    for one in held:
        rows = LaneDomain.objects.filter(lane=one.lane_id, free_at__gt=one.at, refused_since__isnull=False)
        letters = Delivery.objects.filter(issue=one.issue_id, state=Delivery.State.SENT)
        sent = one.issue_id is None or letters.exists()
        if is_everybodys(rows.count(), sent=sent):
            stops[one.lane_id] = Stop(
                lane_id=one.lane_id,
                text=one.outcome.text.replace(Holdup.DOMAIN, "Letters to every domain are refused"),
                retry_at=None,
                claimed_at=one.claimed_at,
                at=one.at,
                is_about_us=True,
            )
    if stops:
        back_off(stops=list(stops.values()), sent=(), now=None)


# --- newsletters and issues


def _heed_sender(issue_id: int, last: Held) -> None:
    letters = Delivery.objects.filter(issue=issue_id)
    refused = letters.filter(state=Delivery.State.DEFERRED, last_error__startswith=Holdup.SENDER)
    domains = list(refused.values_list("domain", flat=True)[:SAMPLE])
    untried = letters.filter(state__in=(Delivery.State.QUEUED, Delivery.State.SENDING))
    sent = letters.filter(state=Delivery.State.SENT).order_by().values("pk")[:SAMPLE].count()
    if not refuses_sender(frozenset(domains), refused=len(domains), sent=sent, untried=untried.exists()):
        return
    reason = (
        f"{BY_ITSELF}its sender is refused ({when(last.at)}). {advice(Meaning.SENDER)} "
        f"The server said: {_said(last)}"
    )
    newsletter = Issue.objects.values_list("subscribable", flat=True).get(pk=issue_id)
    if pause_newsletter(subscribable_id=newsletter, reason=reason, now=last.at):
        log.warning("a newsletter was paused: %s", _said(last), extra={"subscribable": newsletter})


def _hold_issue(issue_id: int, group: Sequence[Held]) -> None:
    """All of it, unless others could take it: then only these."""
    last = group[-1]
    if Delivery.objects.filter(issue=issue_id, state=Delivery.State.SENT).exists():
        rows = Delivery.objects.filter(pk__in=[one.delivery_id for one in group])
        rows.filter(state=Delivery.State.QUEUED).update(state=Delivery.State.HELD)
        return
    reason = f"{BY_ITSELF}it is too large. {advice(Meaning.SIZE)} The server said: {_said(last)}"
    running = Issue.objects.filter(pk=issue_id, paused_at=None, cancelled_at=None)
    if running.update(paused_at=last.at, paused_reason=reason[:LONGEST_REASON]):
        log.warning("an issue was paused: %s", last.outcome.text, extra={"issue": issue_id})


def _said(held: Held) -> str:
    return held.outcome.text.removeprefix(f"{held.outcome.holdup}: ")
