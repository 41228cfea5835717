"""Deliveries and bounces: what can be done with them, by commands, the API and the admin."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from common.cli.commands import cell, shown_fields
from common.ports.panels import CannotAct
from common.resources import ADMIN, API, COMMAND, Done, Filter, Resource, verb
from delivery.bounces.record import release_bounces
from delivery.issues import progress
from delivery.issues.item_fate import SentChanges, changed_delivery, changes_of, fate_of, places_of
from delivery.issues.pause import RETRYABLE, cancel_delivery, retry_delivery
from delivery.models import Bounce, Delivery
from feeds.items.history import rewordings
from feeds.models import Item
from feeds.polling.versions import MOST_VERSIONS
from feeds.resources import Items
from feeds.rules.changes import written

MOST_ATTEMPTS = 50


def delivery_row(delivery: Delivery) -> dict[str, Any]:
    """Needs the destination selected."""
    return {
        "id": delivery.pk,
        "issue": delivery.issue_id,
        "destination": delivery.destination.label,
        **shown_fields(delivery, "state attempts due_at sent_at remote_id last_error"),
    }


class Deliveries(Resource[Delivery]):
    noun = "delivery"
    plural = "deliveries"
    list_help = "List deliveries: one for each message to each address or account."
    empty = "There are no deliveries yet."
    filters = (
        Filter("issue", "Only those of this issue. Quick.", "issue", kind=int),
        Filter("destination", "Only those to this address. Quick.", "destination", kind=int),
        Filter("subscription", "Only those of this subscription. Quick.", "subscription", kind=int),
        Filter(
            "state",
            "Only those in this state. Quick together with an issue.",
            "state",
            choices=Delivery.State.values,
        ),
        Filter(
            "kind",
            "Only those of this kind. Quick together with a destination.",
            "kind",
            choices=Delivery.Kind.values,
        ),
    )

    def rows(self) -> "QuerySet[Delivery]":
        return Delivery.objects.select_related("destination").defer("context")

    def shown(self, row: Delivery) -> Mapping[str, Any]:
        return delivery_row(row)

    def changed(self, row: Delivery) -> None:
        if row.issue_id is not None:
            progress.forget(row.issue_id)

    @verb("Show", on=(COMMAND,))
    def show(self, delivery: Delivery) -> Done:
        """Show a delivery and the attempts that did not succeed, in the server’s words."""
        attempts = delivery.attempt_rows.all()[:MOST_ATTEMPTS]
        history = [shown_fields(attempt, "at outcome text") for attempt in attempts]
        post, later = changed_delivery(delivery), changes_of([delivery]).get(delivery.pk, SentChanges())
        facts = {
            **delivery_row(delivery),
            "kind": delivery.kind,
            "newsletter": delivery.issue.subscribable.name if delivery.issue else None,
            "created_at": delivery.created_at,
            "changes": post.pk if post else None,
        }
        rows = [{**delivery_row(change), "kind": change.kind} for change in later.every]
        lines = {f"at {cell(one['at'])}": f"{one['outcome']}: {one['text']}" for one in history}
        page = {**facts, "since then": later.words, **lines}
        return Done(page, {**facts, "changed_by": rows, "history": history})

    @verb("Try again now", fits=lambda delivery: delivery.state in RETRYABLE, most=1000)
    def retry(self, delivery: Delivery, *, now: datetime) -> str:
        """Retry a delivery. It must have failed, be held, cancelled or waiting, and may be sent."""
        retry_delivery(delivery=delivery, now=now)
        return "Queued again."

    @verb("Cancel", on=(API,))
    def cancel(self, delivery: Delivery) -> str:
        """Cancel a delivery. It isn’t sent unless it is retried. 409 if it is being sent, or has ended."""
        cancel_delivery(delivery=delivery)
        return "Cancelled."


deliveries = Deliveries()


class Bounces(Resource[Bounce]):
    noun = "bounce"
    list_help = "List reports of bounced emails, and complaints."
    empty = "No email has bounced."
    filters = (
        Filter("held", "Only reports that wait for a decision.", "held", kind=bool),
        Filter("kind", "Only reports of this kind.", "kind", choices=Bounce.Kind.values),
    )

    def rows(self) -> "QuerySet[Bounce]":
        return Bounce.objects.select_related("destination")

    def shown(self, row: Bounce) -> Mapping[str, Any]:
        return {
            **shown_fields(row, "id at kind"),
            "destination": row.destination.label if row.destination else row.recipient,
            "delivery": row.delivery_id,
            **shown_fields(row, "status diagnostic effect held"),
        }

    @verb("Stop sending to held addresses", on=(ADMIN,), fits=lambda bounce: bounce.held)
    def suppress_held(self, bounce: Bounce, *, now: datetime) -> str:
        self.release(bounce, suppressing=True, now=now)
        return "The address won’t be emailed any more."

    @verb("Keep sending to held addresses", on=(ADMIN,), fits=lambda bounce: bounce.held)
    def let_be(self, bounce: Bounce, *, now: datetime) -> str:
        self.release(bounce, suppressing=False, now=now)
        return "Ignored. We keep sending there."

    def release(self, bounce: Bounce, *, suppressing: bool, now: datetime) -> None:
        if not release_bounces(bounces=[bounce], suppressing=suppressing, now=now):
            raise CannotAct("This bounce isn’t held, so there’s nothing to decide.")


class SentPosts(Items):
    noun = "post"

    @verb("Show", command="show_item", on=(COMMAND,))
    def show(self, item: Item, *, now: datetime) -> Done:
        """Show a post: in which newsletters it was sent, where it waits, or why not, and what changed."""
        facts = {**self.shown(item), "reason": item.reason, "fate": fate_of(item, now)}
        places = [shown_fields(place, "newsletter state issue until words") for place in places_of(item, now)]
        changed = rewordings(item.pk, limit=MOST_VERSIONS)
        lines = [f"Changed {each.at:%Y-%m-%d %H:%M}:\n{written(each.parts)}" for each in changed]
        changes = [{"at": each.at, "parts": each.parts} for each in changed]
        page = [facts["fate"], "", facts, *lines]
        return Done(page, {**facts, "newsletters": places, "changes": changes})


bounces, sent_posts = Bounces(), SentPosts()
