"""Taking notices: what the subscriptions app wants mailed becomes a Delivery, exactly once."""

from datetime import datetime

from django.db import transaction

from delivery.channels import CHANNELS
from delivery.models import Delivery
from delivery.services.lanes import domain_of, lane_for
from delivery.services.welcoming import send_latest
from subscriptions.models import Notice
from subscriptions.services.welcoming import LATEST

BATCH = 200
FIRST = 1


def take_notices(*, now: datetime) -> int:
    """Turns waiting notices into deliveries that go before all letters. Returns how many."""
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
    kind, core = notice.destination.kind, notice.destination.core
    return Delivery(
        kind=notice.kind,
        key=notice.key,
        destination=notice.destination,
        subscription_id=notice.subscription_id,
        template=notice.template,
        language=notice.language,
        context=notice.context,
        lane=lane_for(kind=kind, core=core, options=_options(notice)),
        domain=domain_of(kind=kind, core=core),
        priority=FIRST,
        created_at=now,
        due_at=now,
    )
