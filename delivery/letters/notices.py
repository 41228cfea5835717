"""Turns notices of the subscriptions app into deliveries, each exactly once.

A welcome may be the latest issue, sent as to a late subscriber.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from channels import CHANNELS
from common.db.prepared import AnyRows
from delivery.issues.audience import recipients_of
from delivery.issues.pause import locked_issue
from delivery.issues.publish import LATE_KEY, queue, release_issue, waiting_for_a_reader
from delivery.lanes.lanes import mail_to
from delivery.letters.password_resets import mail_resets
from delivery.models import Delivery
from delivery.models.issue import NOT_ON_PAGES, SENT_HERE
from subscriptions.models import Notice, SignInRequest
from subscriptions.subscribers.notices import LATEST
from subscriptions.subscribers.sign_in import mail_links

NOTICES_A_BATCH = 200
_WAITING = AnyRows(lambda _: (SignInRequest.objects.all(), Notice.objects.all()))


def send_latest(notice: Notice, *, now: datetime) -> bool:
    """Queue the newest issue for all readers, in the caller's transaction. Return False without one.

    A reader who has it, since it was published during confirmation, gets nothing.
    """
    reader = notice.subscription
    if reader is None:
        return False
    # An issue that waits for the newsletter's first reader goes first.
    for pk in waiting_for_a_reader().filter(subscribable=reader.subscribable_id).values_list("pk", flat=True):
        release_issue(issue_id=pk, now=now)
    out = reader.subscribable.issues.filter(
        ~NOT_ON_PAGES, SENT_HERE, published_at__isnull=False, cancelled_at=None, pruned_at=None
    )
    issue = out.defer("html", "text").order_by("-published_at", "-pk").first()
    if issue is None:
        return False
    # Locked as in `send_late`: the second of two sees the first one's rows.
    issue = locked_issue(issue.pk)
    theirs = Delivery.objects.filter(issue=issue, destination=OuterRef("destination"))
    readers = recipients_of(issue).filter(~Exists(theirs), pk=reader.pk)
    queue(issue=issue, recipients=readers, now=now, key=LATE_KEY)
    return True


def take_notices(*, now: datetime) -> int:
    """Turn waiting notices into deliveries with first priority. Return their number."""
    if not _WAITING.at(now):
        return 0
    mail_resets(now=now)
    mail_links(now=now)
    total = 0
    while count := _take_batch(now):
        total += count
    return total


@transaction.atomic
def _take_batch(now: datetime) -> int:
    notices = list(
        Notice.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("destination", "subscription__subscribable")
        .order_by("pk")[:NOTICES_A_BATCH]
    )
    mails = []
    for notice in notices:
        if notice.destination.kind not in CHANNELS:
            continue
        if notice.kind == Notice.Kind.WELCOME and notice.template == LATEST:
            if send_latest(notice, now=now):
                continue
            # Without an issue, a welcome is a short mail.
            notice.template = Notice.Kind.WELCOME.value
        mails.append(notice)
    deliveries = [
        mail_to(
            notice.destination,
            kind=notice.kind,
            key=notice.key,
            template=notice.template,
            context=notice.context,
            now=now,
            # A newsletter's mails use its account; a sign-in has none.
            options=notice.subscription.subscribable.options if notice.subscription else {},
            subscription_id=notice.subscription_id,
            language=notice.language,
        )
        for notice in mails
    ]
    Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).delete()
    return len(notices)
