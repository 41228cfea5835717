"""Facts for delivery/rules/reach.py: whether a subscriber gets a newsletter, and why not."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.utils.timezone import get_default_timezone

from delivery.lanes.lanes import why_resting
from delivery.models import Delivery, Issue, Lane, LaneDomain, Restore
from delivery.models.issue import NOT_ON_PAGES, SENT_HERE
from delivery.rules.reach import Reach, answer_of_all, expires, person_reach, reach
from delivery.rules.reach_facts import (
    LastIssueFacts,
    NewsletterFacts,
    PersonFacts,
    ReachFacts,
    SubscriptionFacts,
)
from feeds.models import Item
from subscriptions.models import (
    KEPT,
    Assignable,
    Consent,
    Destination,
    FrequencyChange,
    Notice,
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
    return _reach_of_person(_people([destination])[destination.pk], now)


def _reach_of_person(person: PersonFacts, now: datetime) -> Reach | None:
    return person_reach(ReachFacts(now=now, zone=get_default_timezone(), person=person))


def answers_of_people(destinations: Sequence[Destination], *, now: datetime) -> dict[int, str]:
    """Return "Yes", or why not, by key. The number of queries does not depend on that of people."""
    people = _people(destinations)
    found = {pk: said.answer for pk in people if (said := _reach_of_person(people[pk], now)) is not None}
    rows = Subscription.objects.filter(destination__in=people.keys() - found.keys())
    subscriptions = list(rows.select_related("destination").order_by("pk"))
    reaches = reaches_of(subscriptions, now=now)
    mine: dict[int, list[Reach]] = {pk: [] for pk in people.keys() - found.keys()}
    for row in subscriptions:
        mine[row.destination_id].append(reaches[row.pk])
    return found | {pk: answer_of_all(each) for pk, each in mine.items()}


def reaches_of(subscriptions: Sequence[Subscription], *, now: datetime) -> dict[int, Reach]:
    """Return reach by subscription key. The number of queries does not depend on that of rows."""
    people = _people([row.destination for row in subscriptions])
    newsletters = Subscribable.objects.in_bulk({row.subscribable_id for row in subscriptions})
    facts_of_newsletters = _newsletters(list(newsletters.values()), now)
    last = _last_issues(people, newsletters.values(), now)
    waiting = {row.destination_id for row in subscriptions if row.status == Subscription.Status.UNCONFIRMED}
    confirmations = _confirmations(waiting)
    asked = dict(
        Consent.objects.filter(subscription__in=subscriptions, act=Consent.Act.ASKED)
        .order_by("at", "pk")
        .values_list("subscription", "at")
    )
    switches = _switches(subscriptions)
    found = {}
    for row in subscriptions:
        to = row.destination_id
        mine = _subscription(row, asked.get(row.pk), confirmations.get(to, ()), switches)
        newsletter = newsletters[row.subscribable_id]
        found[row.pk] = reach(
            ReachFacts(
                now=now,
                zone=newsletter.zone,
                person=people[to],
                subscription=mine,
                newsletter=facts_of_newsletters[newsletter.pk],
                last=last.get((newsletter.pk, to)),
            )
        )
    return found


def _people(destinations: Sequence[Destination]) -> dict[int, PersonFacts]:
    same = Suppression.objects.filter(core__in={each.core for each in destinations})
    suppressed = {(row.kind, row.core): row for row in same}
    return {each.pk: _person(each, suppressed.get((each.kind, each.core))) for each in destinations}


def _person(destination: Destination, same: Suppression | None) -> PersonFacts:
    return PersonFacts(
        is_email=destination.kind == "email",
        erased_at=destination.erased_at,
        suppressed_at=same.created_at if same else None,
        suppressed_why=same.reason if same else "",
        disabled_at=destination.disabled_at,
        disabled_why=destination.disabled_reason,
    )


def _switches(subscriptions: Sequence[Subscription]) -> list[FrequencyChange]:
    rows = FrequencyChange.objects.filter(Q(old__in=subscriptions) | Q(new__in=subscriptions))
    return list(rows.select_related("old__subscribable", "new__subscribable").order_by("-pk"))


def _subscription(
    row: Subscription,
    asked_at: datetime | None,
    confirmations: Sequence[Delivery | Notice],
    switches: Iterable[FrequencyChange],
) -> SubscriptionFacts:
    away = next((each for each in switches if each.old_id == row.pk), None)
    here = next((each for each in switches if each.new_id == row.pk and each.settled_at is None), None)
    facts: dict[str, Any] = {}
    is_gone = row.ended_at is not None or row.status == Subscription.Status.UNSUBSCRIBED
    if away is not None and away.settled_at is not None and is_gone:
        facts |= {"switched_to": str(away.new.subscribable), "switched_at": away.settled_at}
    elif away is not None and away.settled_at is None:
        facts |= {"changes_to": str(away.new.subscribable), "changes_at": away.at}
    if here is not None and not here.was_there:
        facts |= {"takes_over_from": str(here.old.subscribable), "takes_over_at": here.at}
    if row.status == Subscription.Status.UNCONFIRMED:
        facts |= _confirmation(row, asked_at, confirmations)
    is_imported = row.confirmed_at is None and row.undo_until is None and asked_at is None
    return SubscriptionFacts(
        status=row.status,
        left_at=row.left_at,
        left_by="reader" if row.undo_until or row.left_why else "import" if is_imported else "",
        left_why=str(row.get_left_why_display()) if row.left_why else "",
        confirmed_at=row.confirmed_at,
        paused_until=row.paused_until,
        **facts,
    )


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


def _newsletters(newsletters: Sequence[Subscribable], now: datetime) -> dict[int, NewsletterFacts]:
    keys = [each.pk for each in newsletters]
    watched = Count("feeds", filter=Q(feeds__status="active"), distinct=True)
    posts = Item.objects.filter(feed__subscribables=OuterRef("pk")).exclude(state="excluded")
    rows = Subscribable.objects.filter(pk__in=keys).annotate(
        all_feeds=Count("feeds", distinct=True), read_feeds=watched, brings_posts=Exists(posts)
    )
    moments = next_moments(newsletters, now=now)
    drafts: dict[int, Issue] = {}
    waiting = Issue.objects.filter(subscribable__in=keys, published_at=None, cancelled_at=None)
    for issue in waiting.defer("html", "text", "placeholders").order_by("-pk"):
        drafts[issue.subscribable_id] = issue
    collected: dict[int, tuple[int, str]] = {}
    open_ones = (
        Assignable.objects.filter(subscribable__in=keys).annotate(kept=KEPT).order_by("-opened_at", "-pk")
    )
    for subscribable, kept, error in open_ones.values_list("subscribable", "kept", "last_error"):
        collected[subscribable] = (kept, error)
    return {row.pk: _newsletter(row, moments[row.pk], drafts.get(row.pk), collected) for row in rows}


def _newsletter(
    row: Any, closes_at: datetime | None, draft: Issue | None, collected: Mapping[int, tuple[int, str]]
) -> NewsletterFacts:
    kept, error = collected.get(row.pk, (0, ""))
    waits = ""
    if draft is not None:
        waits = "reader" if draft.awaits_reader else "release" if draft.release_at else "approval"
    return NewsletterFacts(
        paused_at=row.sending_paused_at,
        paused_why=row.sending_paused_reason,
        stopped=row.stopped,
        feeds=row.all_feeds,
        feeds_read=row.read_feeds,
        draft=waits,
        release_at=draft.release_at if draft else None,
        collected=kept,
        collect_error=error,
        closes_at=closes_at,
        has_posts=row.brings_posts,
    )


def _last_issues(
    people: Collection[int], newsletters: Iterable[Subscribable], now: datetime
) -> dict[tuple[int, int], LastIssueFacts]:
    """Return each newsletter's newest issue for all readers, by newsletter and person."""
    keys = [each.pk for each in newsletters]
    out = Issue.objects.filter(
        ~NOT_ON_PAGES, SENT_HERE, subscribable=OuterRef("pk"), published_at__isnull=False
    )
    newest = Subquery(out.order_by("-published_at", "-pk").values("pk")[:1])
    pks = Subscribable.objects.filter(pk__in=keys).order_by().values_list(newest, flat=True)
    issues = Issue.objects.filter(pk__in=list(pks)).defer("html", "text", "placeholders")
    rows = Delivery.objects.filter(destination__in=people, issue__in=issues).select_related("lane__parent")
    deliveries = {(row.issue_id, row.destination_id): row for row in rows}
    domains = LaneDomain.objects.filter(lane__in={row.lane_id for row in deliveries.values()})
    limits = {(each.lane_id, each.domain): each for each in domains}
    is_restoring = Restore.objects.filter(released_at=None).exists()
    return {
        (issue.subscribable_id, to): _last(issue, deliveries.get((issue.pk, to)), limits, is_restoring, now)
        for issue in issues
        for to in people
    }


def _last(
    issue: Issue,
    row: Delivery | None,
    limits: Mapping[tuple[int, str], LaneDomain],
    is_restoring: bool,
    now: datetime,
) -> LastIssueFacts:
    facts = LastIssueFacts(
        title=issue.title,
        published_at=issue.published_at or issue.created_at,
        is_cancelled=issue.cancelled_at is not None,
        is_paused=issue.paused_at is not None,
        paused_why=issue.paused_reason,
    )
    if row is None:
        return facts
    lane = _stops(row.lane, now) or _stops(row.lane.parent, now)
    if not lane and (why := why_resting(row.lane.kind, now)):
        lane = f"resting ({why.rstrip('.')})"
    return replace(
        facts,
        state=row.state,
        held_for=row.held_for,
        error=row.last_error,
        sent_at=row.sent_at,
        due_at=row.due_at,
        lane=lane,
        domain=_stops(limits.get((row.lane_id, row.domain)), now),
        is_restoring=is_restoring,
    )


def _stops(row: Lane | LaneDomain | None, now: datetime) -> str:
    """Return why a mail account or domain sends nothing: "paused (by hand)"."""
    if row is None:
        return ""
    if row.paused:
        return f"paused ({row.paused_reason.rstrip('.')})" if row.paused_reason else "paused"
    if row.free_at is not None and row.free_at > now and row.failures:
        return f"resting ({row.last_error.rstrip('.')})" if row.last_error else "resting"
    return ""
