"""Import of a newer state of a database that was imported before.

The other program went on in between: it sent posts, and people left it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from common.clock import utcnow
from common.net.client import client
from common.passes import TimeBudget
from common.refused import Refused
from common.text import pluralize
from delivery.issues.pause import CANCEL, move
from delivery.models import Delivery, Issue
from delivery.models.delivery import NOT_FINISHED, WAITING
from feedletter_site.migrate_from.source import Origins
from feeds.adding.add import new_feed
from feeds.adding.known import sent_by
from feeds.items.held import note_decided
from feeds.models import Feed, Item
from feeds.polling.claims import asks
from feeds.polling.read import Reading, fetch
from migrate_from.records import ImportResult, Line
from subscriptions.collections.assign import clear_unneeded, lock_for_membership
from subscriptions.models import Assignable, Assignment, Consent, LeftOut, Subscribable, Subscription
from subscriptions.subscribers.bulk import end_subscriptions

FEED, NEWSLETTER = "feed", "newsletter"
# If more are gone than this, and more than stayed, it is probably another database.
MOST_GONE = 10


def read_once(url: str, *, now: datetime) -> Reading:
    """Read a feed that isn’t here yet (network). Raises ValidationError."""
    (ask,) = asks([new_feed(url=url, now=now)], now)
    return fetch(ask, client(), utcnow)


def gone_lines(
    origins: Origins,
    kind: str,
    keys: Collection[str],
    rows: "QuerySet[Any]",
    *,
    prefix: str = "",
    key: str = "pk",
) -> Iterator[Line]:
    """Name `rows` of earlier imports that this state lacks. Without a common one it is another database."""
    earlier = origins.all(kind, prefix)
    gone = [earlier[one] for one in earlier.keys() - set(keys)]
    if len(gone) < len(earlier):
        for row in rows.filter(**{f"{key}__in": gone}).order_by("pk"):
            words = "It isn’t there any more. It stays here: delete it if it should go."
            yield Line(ImportResult.GONE, kind, str(row), words)


def waiting_titles(feed: Feed) -> dict[int, str]:
    """Return unassigned posts that some newsletter will send."""
    left_out = Count("left_out", filter=Q(left_out__by_hand=True))
    rows = Item.objects.unassigned().filter(feed=feed, held_at=None).annotate(out=left_out)
    return dict(rows.filter(out__lt=max(1, feed.subscribables.count())).values_list("pk", "title"))


def mark_sent(feed: Feed, sent: Mapping[int, Iterable[str]], *, sender: str, now: datetime) -> list[Line]:
    """Keep posts that `sender` sent in between out of its newsletters. In the caller's transaction.

    `sent`: digests of guids by newsletter. Raises Refused while an issue of one is being made.
    """
    newsletters = lock_for_membership(Subscribable.objects.filter(feeds=feed))
    Feed.objects.select_for_update().filter(pk=feed.pk).first()
    kept_out, lines = Counter[int](), list[Line]()
    for newsletter in newsletters:
        waits = (
            Q(state=Item.State.UNASSIGNED) & ~Q(left_out__subscribable=newsletter)
            | Q(assignments__assignable__subscribable=newsletter)
            | Q(issue_items__issue__in=_unsent(newsletter))
        )
        hashes = frozenset(sent.get(newsletter.pk, ()))
        rows = Item.objects.filter(waits, feed=feed, guid_hash__any_of=hashes)
        posts = frozenset(rows.values_list("pk", flat=True))
        lines += _keep_out(newsletter, posts, sender, now) if posts else []
        kept_out.update(posts)
    if not kept_out:
        return []
    clear_unneeded(item_ids=sorted(kept_out))
    everywhere = frozenset(pk for pk, count in kept_out.items() if count == len(newsletters))
    done = {"state": Item.State.CLEARED, "entry": None, "content_hash": "", "held_at": None}
    rows = Item.objects.filter(pk__any_of=everywhere)
    rows.filter(state=Item.State.UNASSIGNED).update(**done, reason=sent_by(sender))
    note_decided(feed_id=feed.pk)
    words = f"{pluralize(len(kept_out), 'post')} that {sender} sent in between won’t be sent here."
    return [Line(ImportResult.CHANGED, "posts", feed.url, words), *lines]


def _keep_out(newsletter: Subscribable, posts: frozenset[int], sender: str, now: datetime) -> Iterator[Line]:
    held = Assignment.objects.filter(assignable__subscribable=newsletter, item__pk__any_of=posts)
    if held.filter(assignable__seal_token__isnull=False).exists():
        raise Refused(f"An issue of {newsletter} is just being made. Import again in a few minutes.")
    collections = list(held.values_list("assignable_id", flat=True))
    held.delete()
    Assignable.objects.filter(pk__in=collections, assignments=None).delete()
    waiting = Item.objects.filter(pk__any_of=posts, state=Item.State.UNASSIGNED).only("pk")
    about = {"subscribable": newsletter, "reason": sent_by(sender), "by_hand": True, "at": now}
    LeftOut.objects.bulk_create((LeftOut(item=item, **about) for item in waiting), ignore_conflicts=True)
    for issue in _unsent(newsletter).filter(issue_items__item__pk__any_of=posts).distinct():
        if not issue.issue_items.exclude(item__pk__any_of=posts).exists():
            cancel(issue, now=now)
            continue
        words = f"It has posts that {sender} sent in between, and others. Check it, then send or cancel it."
        Issue.objects.filter(pk=issue.pk).update(release_at=None)
        unsent = issue.deliveries.filter(state__in=(*WAITING, Delivery.State.HELD))
        unsent.update(state=Delivery.State.HELD, held_for="", last_error=words)
        yield Line(ImportResult.ASKS, "issue", f"{newsletter}: {issue}"[:200], words)


def _unsent(newsletter: Subscribable) -> "QuerySet[Issue]":
    """Return issues of which something may still be sent."""
    waiting = Delivery.objects.filter(issue=OuterRef("pk"), state__in=NOT_FINISHED)
    rows = Issue.objects.filter(subscribable=newsletter, cancelled_at=None, issue_import=None)
    return rows.filter(Q(published_at=None) | Exists(waiting)).order_by("pk")


def cancel(issue: Issue, *, now: datetime) -> None:
    """End a draft, too."""
    Issue.objects.filter(pk=issue.pk, cancelled_at=None).update(cancelled_at=now, release_at=None)
    move(issue_ids=[issue.pk], move=CANCEL, now=now, budget=TimeBudget(None))


def end_gone(
    rows: "QuerySet[Subscription]", *, known: int, sender: str, as_of: datetime, now: datetime
) -> list[Line]:
    """End imported subscriptions that `sender` hasn't any more, in the caller's transaction.

    Ends none of people who did something here since, nor those added after the time of the state, which may
    then be an old one. `known`: how many are still there.
    """
    rows = rows.exclude(status=Subscription.Status.UNSUBSCRIBED).order_by("pk")
    acted = Consent.objects.filter(subscription=OuterRef("pk")).exclude(act=Consent.Act.IMPORTED)
    idle = rows.filter(
        ~Exists(acted),
        paused_until=None,
        ended_at=None,
        notices_at__isnull=True,
        switches_away=None,
        switches_here=None,
        destination__changes_here=None,
        added_at__lte=as_of,
    )
    leaving = frozenset(idle.values_list("pk", flat=True))
    why = "They did something here since, or joined after this state was saved."
    if len(leaving) > MOST_GONE and len(leaving) > known:
        leaving, why = frozenset(), "So many are gone that it may be another database."
    left = f"Left {sender}, so unsubscribed here."
    stays = f"Isn’t in {sender} any more. {why} Still subscribed: unsubscribe them if they left."
    lines = [
        Line(ImportResult.GONE, "subscriber", f"{label} of {name}", left if pk in leaving else stays)
        for pk, label, name in rows.values_list("pk", "destination__label", "subscribable__name")
    ]
    end_subscriptions(leaving, now=now, tell=False)
    return lines
