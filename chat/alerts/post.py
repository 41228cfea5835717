"""Each trouble is reported once, at most three a day.

Servers' decisions about held posts.

A feed of several servers waits for all of them. After two days, no decision means no.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Q
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from channels.discord.service import nonce_of
from chat.discord.api import GONE_CODES, KIND, ApiRefused, ask_bot, is_resting
from chat.discord.messages import DANGER, PRIMARY, Message, button, channel_mention, shown_link, shown_title
from chat.guilds.feeds import remove_feed
from chat.guilds.servers import language_of, name_guild, waiting_for_midnight
from chat.models import BotFeed, Guild, GuildFeed, ServerAlert
from chat.rules.parse import Pressed, object_of
from common.clock import utcnow
from common.db.leases import RELEASED, unleased
from delivery.models import Lane
from feeds.items.held import exclude_held, release
from feeds.models import Feed, Item
from subscriptions.collections.edits import note_by_hand
from subscriptions.models import Subscription

PATIENCE = timedelta(hours=48)
NEWEST = 3
HELD = "held"
FAILS_FOR = timedelta(days=1)
LATELY = timedelta(days=1)
MOST_A_DAY = 3
FAILING, GONE, REFUSED, QUOTA = "failing", "gone", "refused", "quota"
STAMP = "%Y%m%dT%H%M%S"
ALERT_LEASE = timedelta(minutes=1)
MOST_TRIES = 8
ALERTS_AT_A_TIME = 50
ASK_EVERY = timedelta(days=1)


def tell(*, now: datetime) -> int:
    note_troubles(now=now)
    return post_alerts()


def post_alerts(*, clock: Callable[[], datetime] = utcnow) -> int:
    if is_resting():
        return 0
    return sum(_posted(alert, clock) for alert in _claimed(clock()))


def _claimed(now: datetime) -> list[ServerAlert]:
    due = ServerAlert.objects.filter(unleased(now), state=ServerAlert.State.WAITING, next_try_at__lte=now)
    if not due.exists():
        return []
    with transaction.atomic():
        rows = list(due.order_by("pk").select_for_update(skip_locked=True, of=("self",))[:ALERTS_AT_A_TIME])
        token = uuid.uuid4()
        ServerAlert.objects.filter(pk__in=[row.pk for row in rows]).update(
            lease_token=token, lease_until=now + ALERT_LEASE
        )
    alerts = ServerAlert.objects.filter(lease_token=token).order_by("pk")
    return list(alerts.select_related("guild", "guild_feed__subscribable", "guild_feed__feed"))


def _posted(alert: ServerAlert, clock: Callable[[], datetime]) -> bool:
    ours = ServerAlert.objects.filter(pk=alert.pk, lease_token=alert.lease_token)
    if alert.trouble == REFUSED and _is_gone(alert.guild, clock()):
        ours.update(state=ServerAlert.State.FAILED, last_error="The bot has left the server.", **RELEASED)
        return False
    own = alert.guild_feed.channel_id if alert.guild_feed else None
    # Quota notices are for readers, others for managers.
    channel = own if alert.trouble == QUOTA else alert.guild.log_channel or own
    with translation.override(language_of(alert.guild)):
        body = message_of(alert).body
    # An earlier worker may have posted it and died. Discord recognizes the nonce for some minutes.
    body |= {"nonce": nonce_of(alert.key), "enforce_nonce": True, "flags": 4}
    try:
        said = ask_bot("POST", f"/channels/{channel}/messages", json=body)
    except ApiRefused as error:
        attempts = alert.attempts + 1
        over = not error.is_temporary or attempts >= MOST_TRIES
        state = ServerAlert.State.FAILED if over else ServerAlert.State.WAITING
        again = clock() + timedelta(seconds=min(30 * 2**attempts, 3600))
        ours.update(
            state=state, attempts=attempts, next_try_at=again, last_error=str(error)[:500], **RELEASED
        )
        return False
    remote_id = f"{channel}/{object_of(said).get('id')}"[:50]
    ours.update(state=ServerAlert.State.POSTED, remote_id=remote_id, last_error="", **RELEASED)
    return True


def message_of(alert: ServerAlert) -> Message:
    one = alert.guild_feed
    if one is None:
        return Message(shown_title(str(alert.context.get("said", ""))), public=True)
    feed = f"**{shown_link(one.title, one.feed.site_url or one.feed.url)}** ({one.number})"
    about = {"feed": feed, "said": shown_title(str(alert.context.get("said", "")), 300)}
    remove = button(pgettext("Discord", "Remove"), Pressed("remove", one.number), style=DANGER)
    pause = button(pgettext("button", "Pause"), Pressed("pause", one.number))
    if alert.trouble == FAILING:
        said = _("%(feed)s couldn’t be fetched for a day. I’ll keep trying. %(said)s")
        return Message(said % about, [[pause, remove]], public=True)
    if alert.trouble == GONE:
        said = _("The site of %(feed)s says that it’s gone, so I’ve stopped fetching it. %(said)s")
        return Message(said % about, [[remove]], public=True)
    if alert.trouble == REFUSED:
        said = _("I’ve stopped posting %(feed)s in %(channel)s. Discord said: %(said)s")
        about["channel"] = channel_mention(one.channel_id)
        if not alert.context.get("waits"):
            return Message(said % about, [[remove]], public=True)
        more = _("New posts are waiting. I’ll keep trying, and will try at once if you press “Try again”.")
        again = button(_("Try again"), Pressed("resume", one.number), style=PRIMARY)
        return Message(f"{said % about} {more}", [[again, remove]], public=True)
    count = int(alert.context.get("count", 0))
    if alert.trouble == QUOTA:
        said = ngettext(
            "… and %(count)s more of %(feed)s, after midnight.",
            "… and %(count)s more of %(feed)s, after midnight.",
            count,
        )
        return Message(said % {**about, "count": count}, public=True)
    said = ngettext(
        "%(feed)s has %(count)s new post at once. Post it? If nobody decides within two days, I’ll skip it.",
        "%(feed)s has %(count)s new posts at once. Post them? If nobody decides "
        "within two days, I’ll skip them.",
        count,
    )
    rows = [
        button(_("Post newest 3"), Pressed("newest", alert.pk), style=PRIMARY),
        button(_("Post all"), Pressed("all", alert.pk)),
        button(_("Skip them"), Pressed("skip", alert.pk)),
    ]
    return Message(said % {**about, "count": count}, [rows], public=True)


def _is_gone(guild: Guild, now: datetime) -> bool:
    """Ask whether the bot has left, as no event reports it (network)."""
    try:
        answer = ask_bot("GET", f"/guilds/{guild.pk}")
    except ApiRefused as error:
        if error.code not in GONE_CODES and error.status != 404:
            return False
        for one in guild.guild_feeds.present().order_by("pk"):
            remove_feed(one, now=now)
        Guild.objects.filter(pk=guild.pk, removed_at=None).update(removed_at=now, why=str(error)[:500])
        return True
    Guild.objects.filter(pk=guild.pk).update(asked_at=now)
    name_guild(guild, str(object_of(answer).get("name") or ""))
    return False


def ask_after_guilds(*, now: datetime) -> int:
    """Ask each server once a day."""
    left = 0
    unasked = Q(asked_at=None, added_at__lte=now - ASK_EVERY) | Q(asked_at__lte=now - ASK_EVERY)
    for guild in Guild.objects.filter(unasked, removed_at=None).order_by("asked_at", "pk")[:200]:
        if is_resting():
            break
        Guild.objects.filter(pk=guild.pk).update(asked_at=now)
        left += _is_gone(guild, now)
    return left


def note_troubles(*, now: datetime) -> int:
    alerts = list(_troubles(now))
    known = set(ServerAlert.objects.filter(key__in=[one.key for one in alerts]).values_list("key", flat=True))
    lately = ServerAlert.objects.filter(created_at__gt=now - LATELY)
    counts = Counter(dict(lately.values_list("guild").annotate(n=Count("pk"))))
    new = []
    for one in alerts:
        # Held posts need a decision; quotas are no trouble.
        is_due = one.trouble in (HELD, QUOTA) or counts[one.guild_id] < MOST_A_DAY
        if is_due and one.key not in known:
            counts[one.guild_id] += 1
            new.append(one)
    return len(ServerAlert.objects.bulk_create(new, ignore_conflicts=True))


def _troubles(now: datetime) -> Iterator[ServerAlert]:
    present = GuildFeed.objects.present().select_related("feed", "subscribable")
    shared = Q(feed__bot_feed__is_operators=False)
    for one in present.filter(shared, feed__held_since__isnull=False):
        count = Item.objects.held().filter(feed=one.feed_id).count()
        yield _alert(one, HELD, one.feed.held_since, now, count=count)
    for one in present.filter(rests_until__gt=now):
        if count := waiting_for_midnight(one):
            yield _alert(one, QUOTA, one.rests_until, now, count=count)
    failing = Q(
        feed__status=Feed.Status.ACTIVE, feed__failures__gt=0, feed__failing_since__lte=now - FAILS_FOR
    )
    for one in present.filter(failing):
        yield _alert(one, FAILING, one.feed.failing_since, now, said=one.feed.last_error[:300])
    for one in present.filter(feed__status=Feed.Status.STOPPED, feed__failures__gt=0):
        yield _alert(one, GONE, one.feed.failing_since, now, said=one.feed.last_error[:300])
    subscribed = Subscription.objects.filter(
        destination__kind=KIND,
        status=Subscription.Status.CONFIRMED,
        ended_at=None,
        subscribable__guild_feed__removed_at=None,
        subscribable__guild_feed__isnull=False,
    )
    related = ("destination", "subscribable__guild_feed")
    for row in subscribed.filter(destination__disabled_at__isnull=False).select_related(*related):
        to = row.destination
        yield _alert(row.subscribable.guild_feed, REFUSED, to.disabled_at, now, said=to.disabled_reason[:300])
    # A lane is named after its destination.
    lanes = {lane.account: lane for lane in Lane.objects.filter(kind=KIND, refused_since__isnull=False)}
    waiting = subscribed.filter(destination__disabled_at=None, destination__core__in=lanes)
    for row in waiting.select_related(*related):
        lane = lanes[row.destination.core]
        feed = row.subscribable.guild_feed
        yield _alert(feed, REFUSED, lane.refused_since, now, said=lane.last_error[:300], waits=True)


def _alert(
    one: GuildFeed, trouble: str, since: datetime | None, now: datetime, **context: Any
) -> ServerAlert:
    stamp = f"{since:{STAMP}}" if since else "-"
    return ServerAlert(
        guild_id=one.guild_id,
        guild_feed=one,
        trouble=trouble,
        key=f"{trouble}-{one.pk}-{stamp}",
        context=context,
        created_at=now,
        next_try_at=now,
    )


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
    posts: dict[str, list[int]] = {ServerAlert.Decision.ALL: keys, ServerAlert.Decision.NEWEST: keys[:NEWEST]}
    wanted: set[int] = set()
    with transaction.atomic():
        for one in GuildFeed.objects.present().filter(feed=feed_id).order_by("pk"):
            chosen = posts.get(decisions.get(one.pk, ""), [])
            wanted.update(chosen)
            for key in keys:
                if key not in chosen:
                    note_by_hand(one.subscribable_id, key, now=now)
    # Operators decide in the admin.
    if BotFeed.objects.filter(feed=feed_id, is_operators=False).exists():
        release(now=now, item_ids=wanted)
        exclude_held(now=now, item_ids=[key for key in keys if key not in wanted])
    ServerAlert.objects.filter(pk__in=[one.pk for one in alerts], applied_at=None).update(applied_at=now)
