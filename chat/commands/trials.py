"""Commands that need the network, and so a worker: preview, test, move."""

from django.utils.translation import gettext as _

from channels.base import Looks
from chat.alerts.post import decide as decide_alert
from chat.commands.add import checked_address, discovered, moved
from chat.commands.context import Context, chosen_channel
from chat.commands.feeds import fitting, named, still_refused
from chat.discord.messages import Later, Message, Reply, channel_mention, shown_link, shown_title
from chat.guilds.feeds import present_subscription
from chat.guilds.rights import ask_again
from chat.models import GuildFeed, Interaction, ServerAlert
from common.refused import Refused
from delivery.bridges.messages import looks_of, newest_letters, recipient_at
from delivery.bridges.trial_posts import NotDone, post_test
from delivery.models import RemotePost

LOOKED_AT = 3


def decide(context: Context, decision: ServerAlert.Decision) -> Message:
    """Replace the message, so that nobody decides again."""
    was_new = decide_alert(
        alert_id=context.asked.number, guild_id=context.guild.pk, decision=decision, now=context.now
    )
    if not was_new:
        return Message(_("That was already decided."))
    sentences = {
        ServerAlert.Decision.NEWEST: _("%(who)s: the newest three will be posted."),
        ServerAlert.Decision.ALL: _("%(who)s: all of them will be posted."),
        ServerAlert.Decision.SKIP: _("%(who)s: none of them will be posted."),
    }
    return Message(sentences[decision] % {"who": f"<@{context.asked.user_id}>"}, public=True)


def preview(context: Context) -> Reply:
    if _known(context) is None:
        checked_address(context.asked.fields.get("feed", ""))
    return Later()


def work_preview(context: Context, row: Interaction) -> Message:
    """Show the server's feeds as they would look here."""
    one = _known(context)
    if one is None:
        found = discovered(context.asked.fields.get("feed", ""), context)
        best = found.candidates[0]
        lines = [f"**{shown_link(best.title, best.url)}**"]
        return Message(fitting([*lines, *(f"• {shown_title(post.title) or '–'}" for post in best.latest)]))
    to = recipient_at(present_subscription(one).destination)
    letters = newest_letters(one.subscribable, now=context.now, count=LOOKED_AT)
    looks = [looks_of(letter, to, kind=one.subscribable.channel) for letter in letters]
    return Message(fitting([named(one), *(f"> {shown_title(_words_of_look(look), 400)}" for look in looks)]))


def _words_of_look(look: Looks) -> str:
    card = look.card
    parts = (look.text, card.title, card.text) if card else (look.text,)
    return look.refusal or " · ".join(" ".join(part.split()) for part in parts if part)


def _known(context: Context) -> GuildFeed | None:
    """Return None for the address of another feed."""
    try:
        return context.feed
    except Refused:
        if "." not in context.asked.fields.get("feed", ""):
            raise
        return None


def test(context: Context) -> Reply:
    context.feed  # noqa: B018 - raises where there is none
    return Later()


def work_test(context: Context, row: Interaction) -> Message:
    """Post the newest post, after a check of a refusing channel."""
    one = context.feed
    subscription = present_subscription(one)
    if why := still_refused(one, now=context.now):
        raise Refused(why)
    subscription.destination.refresh_from_db()
    try:
        done = post_test(subscription=subscription, now=context.now, key=f"chat-{row.pk}")
    except NotDone as error:
        # Discord does not say which permission is missing.
        if why := ask_again(one, now=context.now):
            raise Refused(why) from error
        raise
    remote = RemotePost.objects.filter(delivery=done).first()
    said = _("Posted the newest post of %(feed)s in %(channel)s.")
    words = said % {"feed": named(one), "channel": channel_mention(one.channel_id)}
    return Message(f"{words} {remote.url if remote else ''}".strip())


def move(context: Context) -> Reply:
    context.feed  # noqa: B018 - raises where there is none
    chosen_channel(context)
    return Later()


def work_move(context: Context, row: Interaction) -> Message:
    return moved(context.feed, context)
