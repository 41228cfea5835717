"""The status of a subscription as lists show it. What must not be written to waits for no confirmation."""

from collections.abc import Iterable

from subscriptions.models import Destination, Subscription, Suppression

DO_NOT_WRITE = "do not write"
STATUS_COLOURS = {
    "confirmed": "success",
    "not confirmed yet": "warning",
    "left": "danger",
    DO_NOT_WRITE: "danger",
}


def suppressed_cores(people: Iterable[Destination]) -> set[tuple[str, str]]:
    """The kinds and addresses of those that must not be written to. One query."""
    rows = Suppression.objects.filter(core__in=list({each.core for each in people}))
    return set(rows.values_list("kind", "core"))


def shown_status(subscription: Subscription, *, is_suppressed: bool) -> str:
    has_left = subscription.status == Subscription.Status.UNSUBSCRIBED
    return DO_NOT_WRITE if is_suppressed and not has_left else subscription.get_status_display()
