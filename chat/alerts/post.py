import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from channels.discord.service import nonce_of
from chat.alerts.troubles import FAILING, GONE, QUOTA, REFUSED, note_troubles
from chat.discord.api import ApiRefused, ask_bot, is_resting
from chat.discord.messages import DANGER, PRIMARY, Message, button, channel_mention, shown_link, shown_title
from chat.guilds.feeds import remove_feed
from chat.guilds.servers import language_of, name_guild
from chat.models import Guild, ServerAlert
from chat.rules.buttons import Pressed
from common.clock import utcnow
from common.db.leases import RELEASED, unleased

log = logging.getLogger(__name__)

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
    posted = 0
    for alert in _claimed(clock()):
        posted += _posted(alert, clock)
    return posted


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
    number = said.get("id") if isinstance(said, dict) else None
    ours.update(
        state=ServerAlert.State.POSTED, remote_id=f"{channel}/{number}"[:50], last_error="", **RELEASED
    )
    return True


def message_of(alert: ServerAlert) -> Message:
    one = alert.guild_feed
    if one is None:
        return Message(shown_title(str(alert.context.get("said", ""))), public=True)
    feed = f"**{shown_link(one.title, one.feed.site_url or one.feed.url)}** ({one.number})"
    about = {"feed": feed, "said": shown_title(str(alert.context.get("said", "")), 300)}
    remove = button(pgettext("Discord", "Remove"), Pressed("remove", one.number), style=DANGER)
    pause = button(pgettext("button", "Pause"), Pressed("pause", one.number))
    match alert.trouble:
        case trouble if trouble == FAILING:
            said = _("%(feed)s couldn’t be fetched for a day. I’ll keep trying. %(said)s")
            return Message(said % about, [[pause, remove]], public=True)
        case trouble if trouble == GONE:
            said = _("The site of %(feed)s says that it’s gone, so I’ve stopped fetching it. %(said)s")
            return Message(said % about, [[remove]], public=True)
        case trouble if trouble == REFUSED:
            said = _("I’ve stopped posting %(feed)s in %(channel)s. Discord said: %(said)s")
            about["channel"] = channel_mention(one.channel_id)
            if not alert.context.get("waits"):
                return Message(said % about, [[remove]], public=True)
            more = _(
                "New posts are waiting. I’ll keep trying, and will try at once if you press “Try again”."
            )
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
        if not error.is_gone and error.status != 404:
            return False
        for one in guild.guild_feeds.present().order_by("pk"):
            remove_feed(one, now=now)
        Guild.objects.filter(pk=guild.pk, removed_at=None).update(removed_at=now, why=str(error)[:500])
        return True
    Guild.objects.filter(pk=guild.pk).update(asked_at=now)
    if isinstance(answer, dict):
        name_guild(guild, str(answer.get("name") or ""))
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
