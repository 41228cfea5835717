"""Facts for delivery/rules/reach.py: whether a subscriber gets a newsletter, and why not."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.utils.timezone import get_default_timezone

from delivery.lanes.lanes import why_resting
from delivery.models import Delivery, Issue, Lane, LaneDomain, Restore
from delivery.models.issue import NOT_ON_PAGES, SENT_HERE
from delivery.rules.reach import Reach, answer_of_all, expires, person_reach, reach
from delivery.rules.reach_facts import PersonFacts, ReachFacts
from feeds.models import Item
from subscriptions.models import (
    KEPT,
    Assignable,
    Consent,
    Destination,
    FrequencyChange,
    Notice,
    SeriesRun,
    Subscribable,
    Subscription,
    Suppression,
)
from subscriptions.newsletters.define import next_moments

CONFIRMATIONS_SEEN = 50


def reach_of(subscription: Subscription, *, now: datetime) -> Reach:
    return reaches_of([subscription], now=now)[subscription.pk]


def reach_of_person(destination: Destination, *, now: datetime) -> Reach | None:
    """Return why this person gets no newsletter at all, if so."""
    return _reach_of_person(destination, _suppressions([destination]), now)


def _reach_of_person(
    person: Destination, suppressions: Mapping[tuple[str, str], Suppression], now: datetime
) -> Reach | None:
    suppression = suppressions.get((person.kind, person.core))
    zone = get_default_timezone()
    return person_reach(PersonFacts(now=now, zone=zone, person=person, suppression=suppression))


def answers_of_people(destinations: Sequence[Destination], *, now: datetime) -> dict[int, str]:
    """Return "Yes", or why not, by key. The number of queries does not depend on that of people."""
    suppressions = _suppressions(destinations)
    reasons = {each.pk: _reach_of_person(each, suppressions, now) for each in destinations}
    found = {pk: reason.answer for pk, reason in reasons.items() if reason is not None}
    others = reasons.keys() - found.keys()
    rows = Subscription.objects.filter(destination__in=others)
    subscriptions = list(rows.select_related("destination").order_by("pk"))
    reaches = reaches_of(subscriptions, now=now)
    mine: dict[int, list[Reach]] = {pk: [] for pk in others}
    for row in subscriptions:
        mine[row.destination_id].append(reaches[row.pk])
    return found | {pk: answer_of_all(each) for pk, each in mine.items()}


def reaches_of(subscriptions: Sequence[Subscription], *, now: datetime) -> dict[int, Reach]:
    """Return reach by subscription key. The number of queries does not depend on that of rows."""
    people = {row.destination_id for row in subscriptions}
    suppressions = _suppressions([row.destination for row in subscriptions])
    newsletters = _newsletters({row.subscribable_id for row in subscriptions})
    ahead = _ahead(newsletters, now)
    last = _last_issues(people, newsletters, now)
    waiting = {row.destination_id for row in subscriptions if row.status == Subscription.Status.UNCONFIRMED}
    confirmations = _confirmations(waiting)
    asked = dict(
        Consent.objects.filter(subscription__in=subscriptions, act=Consent.Act.ASKED)
        .order_by("at", "pk")
        .values_list("subscription", "at")
    )
    switches = FrequencyChange.objects.filter(Q(old__in=subscriptions) | Q(new__in=subscriptions))
    switches = switches.select_related("old__subscribable", "new__subscribable").order_by("-pk")
    first = {row.pk for row in subscriptions if newsletters[row.subscribable_id].has_series_first}
    runs = SeriesRun.objects.filter(subscription__in=first, ended_at=None) if first else ()
    in_series = {(run.subscription_id, run.newsletter_id) for run in runs}
    found = {}
    for row in subscriptions:
        to, newsletter, facts = row.destination_id, newsletters[row.subscribable_id], dict[str, Any]()
        if row.status == Subscription.Status.UNCONFIRMED:
            facts = _confirmation(row, asked.get(row.pk), confirmations.get(to, ()))
        found[row.pk] = reach(
            ReachFacts(
                now=now,
                zone=newsletter.zone,
                person=row.destination,
                suppression=suppressions.get((row.destination.kind, row.destination.core)),
                subscription=row,
                newsletter=newsletter,
                away=next((each for each in switches if each.old_id == row.pk), None),
                here=next((each for each in switches if each.new_id == row.pk and not each.settled_at), None),
                asked_at=asked.get(row.pk),
                series_first=(row.pk, newsletter.pk) in in_series,
                **facts,
                **ahead[newsletter.pk],
                **last.get((newsletter.pk, to), {}),
            )
        )
    return found


def _suppressions(destinations: Iterable[Destination]) -> dict[tuple[str, str], Suppression]:
    rows = Suppression.objects.filter(core__in={each.core for each in destinations})
    return {(row.kind, row.core): row for row in rows}


def _confirmation(
    row: Subscription, asked_at: datetime | None, mails: Sequence[Delivery | Notice]
) -> dict[str, Any]:
    """Return the latest confirmation mail's state. One for several newsletters names the first."""
    own = (mail for mail in mails if mail.subscription_id == row.pk)
    of_all = (mail for mail in mails if asked_at is not None and mail.created_at >= asked_at)
    mail = next(own, None) or next(of_all, None)
    since = max((at for at in (asked_at, mail.created_at if mail else None) if at is not None), default=None)
    if since is None and row.confirm_nonce:
        since = row.added_at
    return {
        "confirmation": "" if mail is None else "wanted" if isinstance(mail, Notice) else mail.state,
        "confirmation_error": mail.last_error if isinstance(mail, Delivery) else "",
        "confirm_until": expires(since, settings.CONFIRM_HOURS) if since else None,
    }


def _confirmations(people: Collection[int]) -> dict[int, list[Delivery | Notice]]:
    """Return confirmation mails by person, newest first."""
    if not people:
        return {}
    most = CONFIRMATIONS_SEEN * len(people)
    notices = Notice.objects.filter(destination__in=people, kind=Notice.Kind.CONFIRMATION).order_by("-pk")
    kind = Delivery.Kind.CONFIRMATION
    rows = Delivery.objects.filter(destination__in=people, kind=kind).defer("context").order_by("-pk")
    found: dict[int, list[Delivery | Notice]] = defaultdict(list)
    for row in (*notices[:most], *rows[:most]):
        if row.destination_id is not None:
            found[row.destination_id].append(row)
    return found


def _newsletters(keys: Collection[int]) -> dict[int, Any]:
    watched = Count("feeds", filter=Q(feeds__status="active"), distinct=True)
    posts = Item.objects.filter(feed__subscribables=OuterRef("pk")).exclude(state="excluded")
    rows = Subscribable.objects.annotate(
        all_feeds=Count("feeds", distinct=True), read_feeds=watched, brings_posts=Exists(posts)
    )
    return rows.in_bulk(keys)


def _ahead(newsletters: Mapping[int, Subscribable], now: datetime) -> dict[int, dict[str, Any]]:
    """Return what is known of each newsletter's next issue."""
    moments = next_moments(list(newsletters.values()), now=now)
    facts: dict[int, dict[str, Any]] = {pk: {"closes_at": moments[pk]} for pk in newsletters}
    waiting = Issue.objects.filter(subscribable__in=newsletters, published_at=None, cancelled_at=None)
    for issue in waiting.defer("html", "text", "placeholders").order_by("-pk"):
        facts[issue.subscribable_id]["draft"] = issue
    collections = Assignable.objects.filter(subscribable__in=newsletters).annotate(kept=KEPT)
    rows = collections.order_by("-opened_at", "-pk").values_list("subscribable", "kept", "last_error")
    for pk, kept, error in rows:
        facts[pk] |= {"collected": kept, "collect_error": error}
    return facts


def _last_issues(
    people: Collection[int], newsletters: Collection[int], now: datetime
) -> dict[tuple[int, int], dict[str, Any]]:
    """Return each newsletter's newest issue for all readers, by newsletter and person."""
    out = Issue.objects.filter(
        ~NOT_ON_PAGES, SENT_HERE, subscribable=OuterRef("pk"), published_at__isnull=False
    )
    newest = Subquery(out.order_by("-published_at", "-pk").values("pk")[:1])
    pks = Subscribable.objects.filter(pk__in=newsletters).order_by().values_list(newest, flat=True)
    issues = Issue.objects.filter(pk__in=list(pks)).defer("html", "text", "placeholders")
    rows = Delivery.objects.filter(destination__in=people, issue__in=issues).select_related("lane__parent")
    deliveries = {(row.issue_id, row.destination_id): row for row in rows}
    domains = LaneDomain.objects.filter(lane__in={row.lane_id for row in deliveries.values()})
    limits = {(each.lane_id, each.domain): each for each in domains}
    is_restoring = Restore.objects.filter(released_at=None).exists()
    facts: dict[tuple[int, int], dict[str, Any]] = {}
    for issue in issues:
        for to in people:
            facts[issue.subscribable_id, to] = {"issue": issue}
            if row := deliveries.get((issue.pk, to)):
                facts[issue.subscribable_id, to] |= {
                    "delivery": row,
                    "lane": _lane_stops(row.lane, now),
                    "domain": _stops(limits.get((row.lane_id, row.domain)), now),
                    "is_restoring": is_restoring,
                }
    return facts


def _lane_stops(lane: Lane, now: datetime) -> str:
    stops = _stops(lane, now) or _stops(lane.parent, now)
    if not stops and (why := why_resting(lane.kind, now)):
        return f"resting ({why.rstrip('.')})"
    return stops


def _stops(row: Lane | LaneDomain | None, now: datetime) -> str:
    """Return why a mail account or domain sends nothing: "paused (by hand)"."""
    if row is None:
        return ""
    if row.paused:
        return f"paused ({row.paused_reason.rstrip('.')})" if row.paused_reason else "paused"
    if row.free_at is not None and row.free_at > now and row.failures:
        return f"resting ({row.last_error.rstrip('.')})" if row.last_error else "resting"
    return ""
