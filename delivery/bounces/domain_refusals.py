"""Domains that refuse our letters (5.7.x) or deny addresses by the dozen (5.1.x) are paused; newsletters too.

All of it is part of the caller's transaction, after whatever it has to lock of deliveries, destinations and
lanes. Looked at only when such an answer has come, and never at more rows than a bound says.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from common.admin.html import when
from delivery.bounces.recent_letters import last_letters
from delivery.issues.pause import pause_newsletter
from delivery.lanes.settings import pause_domain
from delivery.models import Bounce, Delivery, Issue, LaneDomain
from delivery.models.delivery import UNFINISHED
from delivery.rules.bounce_policy import ABOUT_OUR_MAIL, BounceKind
from delivery.rules.refusals import (
    LARGE_DOMAINS,
    LAST,
    SAMPLE,
    Answers,
    doubts_us,
    is_about_identity,
    is_refusal,
    large,
    may_matter,
    refuses,
    stops_newsletter,
)

log = logging.getLogger(__name__)

# What a pause begins with that no person made: the admins are told of these.
BY_ITSELF = "By itself: "
REFUSED = f"{BY_ITSELF}it refused"
DENIED = f"{BY_ITSELF}it said “no such address”"
# What was done, of the refusals that led to a pause or came after it: they do not lead to another one.
DOMAIN_PAUSED = f"{ABOUT_OUR_MAIL} Letters to this domain are paused."
NEWSLETTER_PAUSED = f"{ABOUT_OUR_MAIL} The newsletter is paused."


def on_refusals(*, bounces: Iterable[Bounce], now: datetime) -> None:
    """Pauses what has to be paused by these refusals, which have just been recorded."""
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
        _heed(group, now)


def on_refused_sender(*, delivery: Delivery, said: str, now: datetime) -> None:
    """The mail server itself, with no recipient named yet, says that we are not who we say we are."""
    if delivery.issue_id is not None:
        _pause_newsletter(
            _newsletter(delivery.issue_id), "the mail server does not believe who it is from", said, now
        )


def pause_denying(*, bounce: Bounce, now: datetime) -> bool:
    """Pauses the domain of a bounce because it denies too many addresses. False when it was paused."""
    assert bounce.delivery is not None  # noqa: S101 - for the type checker
    reason = (
        f"{DENIED} more often within an hour than can be true ({when(now)}). "
        "None of them was put on the suppression list; their bounces are held for you. "
        f"The server said: {bounce.diagnostic}"
    )
    return pause_domain(lane_id=bounce.delivery.lane_id, domain=bounce.domain, reason=reason, now=now)


def why(reason: str) -> str:
    """The reason of a pause as it goes on after a colon."""
    return reason.removeprefix(BY_ITSELF)


def denies(*, lane_id: int, domain: str) -> bool:
    """Whether the domain is paused because it denied too many addresses."""
    rows = LaneDomain.objects.filter(lane=lane_id, domain=domain, paused=True)
    return rows.filter(paused_reason__startswith=DENIED).exists()


def _heed(group: Sequence[Bounce], now: datetime) -> None:
    """Refusals of one domain and one issue."""
    bounce = group[-1]
    delivery = bounce.delivery
    assert delivery is not None  # noqa: S101 - for the type checker
    if _is_stopped(delivery, group) or not _are_enough(bounce.domain):
        return
    letters, answers = _answers(delivery)
    if not (refuses(answers) or doubts_us(answers)):
        return
    if delivery.issue_id is not None and _stops_newsletter(delivery, answers):
        cause = _cause(delivery.domain, answers)
        _pause_newsletter(_newsletter(delivery.issue_id), cause, bounce.diagnostic, now)
        _mark(letters, NEWSLETTER_PAUSED)
    if refuses(answers):
        _pause_domain(bounce, answers, now)
        _mark(letters, DOMAIN_PAUSED)


def _are_enough(domain: str) -> bool:
    """Whether so many refusals have led to nothing yet that the letters beside them are worth a look."""
    rows = Bounce.objects.filter(domain=domain, kind=BounceKind.POLICY, effect=ABOUT_OUR_MAIL)
    return may_matter(list(rows.order_by("-at").values_list("status", flat=True)[:LAST]))


def _is_stopped(delivery: Delivery, group: Sequence[Bounce]) -> bool:
    """Whether they were only still on their way when the domain or the newsletter was paused."""
    paused = LaneDomain.objects.filter(lane=delivery.lane_id, domain=delivery.domain, paused=True).exists()
    stopped = _is_paused(delivery)
    if paused or stopped:
        effect = DOMAIN_PAUSED if paused else NEWSLETTER_PAUSED
        Bounce.objects.filter(pk__in=[one.pk for one in group]).update(effect=effect)
    return paused or stopped


def _is_paused(delivery: Delivery) -> bool:
    paused = Issue.objects.filter(subscribable__sending_paused_at__isnull=False)
    return delivery.issue_id is not None and paused.filter(pk=delivery.issue_id).exists()


def _answers(delivery: Delivery) -> tuple[list[int], Answers]:
    """The domain's last letters, without those that led to an earlier pause, and what became of them."""
    last = list(dict.fromkeys([*_waiting(delivery), *last_letters(near=delivery, most=LAST)]))
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


def _waiting(delivery: Delivery) -> list[int]:
    """Letters that were refused because of ourselves, and wait."""
    rows = Bounce.objects.filter(domain=delivery.domain, kind=BounceKind.POLICY, effect=ABOUT_OUR_MAIL)
    waiting = rows.filter(delivery__lane=delivery.lane_id, delivery__state__in=UNFINISHED)
    return list(waiting.order_by("-at").values_list("delivery", flat=True)[:LAST])


def _stops_newsletter(delivery: Delivery, answers: Answers) -> bool:
    shares = large(_sample(delivery))
    others = LaneDomain.objects.filter(lane=delivery.lane_id, domain__in=list(shares), paused=True)
    refusing = others.filter(paused_reason__startswith=REFUSED).exclude(domain=delivery.domain).count()
    return stops_newsletter(
        answers, is_large=delivery.domain in shares, large_that_refuse=refusing + refuses(answers)
    )


def _sample(delivery: Delivery) -> list[str]:
    """Domains of the issue's recipients, in an order that has nothing to do with what became of them."""
    rows = Delivery.objects.filter(issue=delivery.issue_id).order_by("destination")
    return list(rows.values_list("domain", flat=True)[:SAMPLE])


def _newsletter(issue_id: int) -> int:
    return Issue.objects.values_list("subscribable", flat=True).get(pk=issue_id)


def _cause(domain: str, answers: Answers) -> str:
    if doubts_us(answers):
        return f"{domain} does not believe who it is from. Look at SPF, DKIM and DMARC (check_mail)"
    return f"{LARGE_DOMAINS} large domains refuse it, {domain} among them"


def _pause_newsletter(subscribable_id: int, cause: str, said: str, now: datetime) -> None:
    reason = f"{BY_ITSELF}{cause} ({when(now)}). The server said: {said}"
    if pause_newsletter(subscribable_id=subscribable_id, reason=reason, now=now):
        log.warning("a newsletter was paused: %s", cause, extra={"subscribable": subscribable_id})


def _pause_domain(bounce: Bounce, answers: Answers, now: datetime) -> None:
    assert bounce.delivery is not None  # noqa: S101 - for the type checker
    reason = (
        f"{REFUSED} {answers.refused} of the last {answers.count} letters ({when(now)}). "
        f"The server said: {bounce.diagnostic}"
    )
    if pause_domain(lane_id=bounce.delivery.lane_id, domain=bounce.domain, reason=reason, now=now):
        log.warning("letters to a domain were paused", extra={"domain": bounce.domain})


def _mark(letters: Sequence[int], effect: str) -> None:
    rows = Bounce.objects.filter(delivery__in=letters, kind=BounceKind.POLICY, effect=ABOUT_OUR_MAIL)
    rows.update(effect=effect)
