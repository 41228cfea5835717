"""Mails that the subscriptions app asks for: each notice becomes a Delivery, exactly once.

A welcome brings the latest issue along, as late subscribers get it.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from delivery.channels import CHANNELS
from delivery.issues.pause import locked_issue
from delivery.issues.publish import LATE, queue, recipients_of
from delivery.lanes.lanes import mail_to
from delivery.models import Delivery, Issue
from subscriptions.models import Notice, Subscribable
from subscriptions.subscribers.notices import LATEST
from subscriptions.subscribers.sign_in import mail_links

BATCH = 200


def send_latest(notice: Notice, *, now: datetime) -> bool:
    """Queues it, in the caller's transaction. False when there is no issue to send yet.

    Nothing is queued for who has it: it may have been published while they were confirming.
    """
    reader = notice.subscription
    issue = _latest(reader.subscribable) if reader else None
    if reader is None or issue is None:
        return False
    # As `send_late` does: of the two, the second sees what the first inserted.
    issue = locked_issue(issue.pk)
    theirs = Delivery.objects.filter(issue=issue, destination=OuterRef("destination"))
    readers = recipients_of(issue.subscribable).filter(~Exists(theirs), pk=reader.pk)
    queue(issue=issue, recipients=readers, now=now, key=LATE)
    return True


def _latest(newsletter: Subscribable) -> Issue | None:
    """The newest issue that went out and can still be sent."""
    out = newsletter.issues.filter(published_at__isnull=False, cancelled_at=None, pruned_at=None)
    return out.defer("html", "text").order_by("-published_at", "-pk").first()


def take_notices(*, now: datetime) -> int:
    """Turns waiting notices into deliveries that go before all letters. Returns how many."""
    mail_links(now=now)
    if not Notice.objects.exists():
        return 0
    total = 0
    while count := _take_batch(now):
        total += count
    return total


@transaction.atomic
def _take_batch(now: datetime) -> int:
    notices = list(
        Notice.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("destination", "subscription__subscribable")
        .order_by("pk")[:BATCH]
    )
    wanted = [notice for notice in notices if notice.destination.kind in CHANNELS]
    mails = [notice for notice in wanted if not _is_sent_as_issue(notice, now)]
    Delivery.objects.bulk_create([_delivery(notice, now) for notice in mails], ignore_conflicts=True)
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).delete()
    return len(notices)


def _is_sent_as_issue(notice: Notice, now: datetime) -> bool:
    """A welcome may be the latest issue; while there is none, it is a few words."""
    if notice.kind != Notice.Kind.WELCOME or notice.template != LATEST:
        return False
    notice.template = Notice.Kind.WELCOME.value
    return send_latest(notice, now=now)


def _options(notice: Notice) -> dict[str, str]:
    """A newsletter's mails go out through its account; a sign-in belongs to none."""
    return notice.subscription.subscribable.options if notice.subscription else {}


def _delivery(notice: Notice, now: datetime) -> Delivery:
    return mail_to(
        notice.destination,
        kind=notice.kind,
        key=notice.key,
        template=notice.template,
        context=notice.context,
        now=now,
        options=_options(notice),
        subscription_id=notice.subscription_id,
        language=notice.language,
    )
