"""The store step: an Issue comes into being and its collection goes, in one transaction."""

import secrets
from datetime import datetime
from uuid import UUID

from delivery.models import Issue, IssueItem
from delivery.rendering.issue import Rendered
from delivery.services.facts import Collected
from delivery.services.publishing import publish
from subscriptions.models import Assignable, Assignment, Subscribable
from subscriptions.services.assigning import lock_for_membership, numbered
from subscriptions.services.dropping import clear_unneeded


class CollectionChanged(RuntimeError):
    """The collection is not what was rendered: nothing is stored, it is tried again."""


def store_issue(
    *, assignable_id: int, token: UUID, contents: Collected, rendered: Rendered, now: datetime
) -> Issue:
    """Stores the issue and publishes it, within the caller's transaction.

    Guarded by the seal's token. Raises CollectionChanged when the seal was lost or the collection holds
    another assignment than was rendered.
    """
    locked = lock_for_membership(Subscribable.objects.filter(pk=contents.subscribable.pk))
    assignable = Assignable.objects.select_for_update().filter(pk=assignable_id, seal_token=token).first()
    if assignable is None or not locked:
        raise CollectionChanged("The seal was lost while rendering; another worker has it.")
    subscribable = locked[0]
    _take_out(assignable, contents)
    issue = _issue(contents, rendered, now)
    assignable.delete()
    clear_unneeded(item_ids=[post.item_id for post in contents.posts])
    _advance(subscribable, contents)
    publish(issue_id=issue.pk, now=now)
    return issue


def _take_out(assignable: Assignable, contents: Collected) -> None:
    """Deletes exactly the assignments that were rendered."""
    rendered = [post.assignment_id for post in contents.posts]
    deleted, _ = Assignment.objects.filter(assignable=assignable, pk__in=rendered).delete()
    if deleted != len(rendered) or Assignment.objects.filter(assignable=assignable).exists():
        raise CollectionChanged("The collection changed while it was rendered.")


def _issue(contents: Collected, rendered: Rendered, now: datetime) -> Issue:
    issue = Issue.objects.create(
        subscribable=contents.subscribable,
        within_type_id=contents.within_type_id,
        token=secrets.token_hex(12),
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        holes=rendered.holes,
        period_start=contents.period_start,
        period_end=contents.period_end,
        created_at=now,
    )
    IssueItem.objects.bulk_create(
        [
            IssueItem(issue=issue, item_id=post.item_id, position=position, entry=post.entry.to_json())
            for position, post in enumerate(contents.posts)
        ],
        batch_size=500,
    )
    return issue


def _advance(subscribable: Subscribable, contents: Collected) -> None:
    subscribable.last_completed_wti = contents.within_type_id
    if contents.within_type_id == numbered(subscribable.counter):
        subscribable.counter += 1
    if contents.period_end is not None:
        subscribable.issued_through = max(
            contents.period_end, subscribable.issued_through or contents.period_end
        )
    subscribable.save(update_fields=["last_completed_wti", "counter", "issued_through"])
