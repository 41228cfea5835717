"""What a delivery waits for, and what a person can do about it."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.html import link_to
from common.clock import utcnow
from delivery.issues.pause import is_paused
from delivery.lanes.status import day_is_full
from delivery.models import Delivery, LaneDomain


def waits_for(delivery: Delivery) -> SafeString | str:
    """Nothing for a delivery that is done, or that goes out when its time comes."""
    if delivery.state == Delivery.State.HELD:
        match delivery.held_for:
            case Delivery.HeldFor.PAUSE:
                return _paused(delivery) or "The pause has ended: it goes on in a moment."
            case Delivery.HeldFor.DOMAIN:
                return _domain(delivery) or "Its domain’s pause has ended: it goes on in a moment."
            case Delivery.HeldFor.RESTORE:
                return (
                    "For you: a backup was restored, so it may have been sent since."
                    " “manage.py after_restore” lets it go."
                )
        return (
            "For you: nobody knows whether it arrived. Ask the recipient, or try again now;"
            " it may arrive twice then."
        )
    if delivery.state not in (Delivery.State.QUEUED, Delivery.State.DEFERRED):
        return ""
    if said := _paused(delivery) or _domain(delivery):
        return said
    lane = delivery.lane
    if not lane.paused:
        return _full_day(delivery)
    return format_html("{} is paused: {} Resume it, and this goes on.", link_to(lane), lane.paused_reason)


def _full_day(delivery: Delivery) -> SafeString | str:
    """What the account may send within 24 hours."""
    if delivery.due_at > utcnow() or not day_is_full(delivery.lane, utcnow()):
        return ""
    return format_html(
        "{} has sent as many messages as it may within 24 hours. This goes on by itself.",
        link_to(delivery.lane),
    )


def _paused(delivery: Delivery) -> SafeString | str:
    """The pause of its issue, or of its newsletter."""
    issue = delivery.issue
    if issue is None or not is_paused(issue):
        return ""
    if issue.paused_at is not None:
        return format_html("{} is paused. Resume it, and this goes on.", link_to(issue))
    reason = issue.subscribable.sending_paused_reason
    return format_html("{} is paused: {} Resume it, and this goes on.", link_to(issue.subscribable), reason)


def _domain(delivery: Delivery) -> SafeString | str:
    """A pause of its recipients' domain."""
    paused = LaneDomain.objects.filter(lane=delivery.lane_id, domain=delivery.domain, paused=True).first()
    if paused is None:
        return ""
    return format_html(
        "Letters to {} are paused in {}: {} Resume them there, and this goes on.",
        delivery.domain,
        link_to(delivery.lane),
        paused.paused_reason,
    )
