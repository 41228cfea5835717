"""Servers' decisions about held posts.

A feed of several servers waits for all of them. After two days, no decision means no.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from chat.models import BotFeed, GuildFeed, ServerAlert
from feeds.items.held import exclude_held, release
from feeds.models import Item
from subscriptions.collections.edits import note_by_hand

PATIENCE = timedelta(hours=48)
NEWEST = 3
HELD = "held"


def decide(*, alert_id: int, guild_id: int, decision: ServerAlert.Decision, now: datetime) -> bool:
    """Return False if it was decided before, or is over."""
    open_ones = ServerAlert.objects.filter(
        pk=alert_id, guild=guild_id, trouble=HELD, decision="", applied_at=None
    )
    return bool(open_ones.update(decision=decision, decided_at=now))


def apply_decisions(*, now: datetime) -> int:
    waiting: dict[int, list[ServerAlert]] = defaultdict(list)
    rows = ServerAlert.objects.filter(trouble=HELD, applied_at=None, guild_feed__isnull=False)
    for alert in rows.select_related("guild_feed").order_by("pk"):
        assert alert.guild_feed is not None  # noqa: S101 - for the type checker
        waiting[alert.guild_feed.feed_id].append(alert)
    done = 0
    for feed_id, alerts in sorted(waiting.items()):
        undecided = [one for one in alerts if not one.decision and _is_present(one)]
        if undecided and now - max(one.created_at for one in undecided) < PATIENCE:
            continue
        _apply(feed_id, alerts, now)
        done += 1
    return done


def _is_present(alert: ServerAlert) -> bool:
    return alert.guild_feed is not None and alert.guild_feed.removed_at is None


def _apply(feed_id: int, alerts: Sequence[ServerAlert], now: datetime) -> None:
    items = list(Item.objects.held().filter(feed=feed_id))
    items.sort(key=lambda item: (item.published_at or item.first_seen, item.pk), reverse=True)
    keys = [item.pk for item in items]
    decisions = {one.guild_feed_id: one.decision for one in alerts if _is_present(one)}
    wanted: set[int] = set()
    with transaction.atomic():
        for one in GuildFeed.objects.present().filter(feed=feed_id).order_by("pk"):
            match decisions.get(one.pk, ""):
                case ServerAlert.Decision.ALL:
                    chosen = keys
                case ServerAlert.Decision.NEWEST:
                    chosen = keys[:NEWEST]
                case _skip:
                    chosen = []
            wanted.update(chosen)
            for key in keys:
                if key not in chosen:
                    note_by_hand(one.subscribable_id, key, now=now)
    # Operators decide in the admin.
    if BotFeed.objects.filter(feed=feed_id, is_operators=False).exists():
        release(now=now, item_ids=wanted)
        exclude_held(now=now, item_ids=[key for key in keys if key not in wanted])
    ServerAlert.objects.filter(pk__in=[one.pk for one in alerts], applied_at=None).update(applied_at=now)
