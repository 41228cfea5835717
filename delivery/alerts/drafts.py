"""Mails to the admins about issues that wait for approval: all that wait, whenever there is a new one."""

from datetime import datetime, timedelta

from django.db import transaction

from common.admin.html import list_url, object_url, when
from common.text import counted, one_line, shortened
from delivery.alerts.mails import queue_alert, recipients
from delivery.alerts.messages import Alert, listed
from delivery.issues.approve import drafts
from delivery.issues.publish import recipients_of
from delivery.models import Delivery, Issue

# So many newsletters may complete at seven that one mail has to tell of them together.
GAP = timedelta(minutes=10)
LONGEST_TITLE = 80
KEY = "drafts"


def tell_of_drafts(*, now: datetime) -> int:
    """Queues a mail to each admin if a draft waits that none of them has heard of. Returns how many."""
    waiting = list(drafts().select_related("subscribable"))
    newest = max((issue.pk for issue in waiting), default=0)
    if not newest or not _is_news(newest, now):
        return 0
    admins = recipients(now)
    with transaction.atomic():
        return queue_alert(words(waiting), key=f"{KEY}:{newest}", admins=admins, now=now)


def _is_news(newest: int, now: datetime) -> bool:
    told = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, key__startswith=f"{KEY}:").order_by()
    rows = list(told.values_list("key", "created_at"))
    heard_of = max((int(key.split(":")[1]) for key, _ in rows), default=0)
    return newest > heard_of and not any(at > now - GAP for _, at in rows)


def words(waiting: list[Issue]) -> Alert:
    """One mail about all of them."""
    if len(waiting) > 1:
        lines = [f"{_name(issue)} of {issue.subscribable}. {goes_out(issue)}" for issue in waiting]
        return Alert(
            subject=f"{counted(len(waiting), 'issue')} wait for your approval",
            sentences=("These have been made and have not gone out:",),
            lines=listed(lines),
            page=list_url(Issue, state="draft"),
        )
    issue = waiting[0]
    number = counted(recipients_of(issue.subscribable).count(), "subscriber")
    return Alert(
        subject=f"{_name(issue)} waits for your approval",
        sentences=(
            f"The next issue of {issue.subscribable} has been made, for {number}. {goes_out(issue)}",
            "Its page shows the letter as it would go out.",
        ),
        page=object_url(issue),
    )


def goes_out(issue: Issue) -> str:
    """When a draft goes, in words."""
    if issue.release_at is None:
        return "It goes out when you approve it."
    return f"It goes out by itself on {when(issue.release_at)}, unless you stop it."


def _name(issue: Issue) -> str:
    return f"“{shortened(one_line(str(issue)), LONGEST_TITLE)}”"
