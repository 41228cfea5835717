"""Which addresses the ledger still needs, though nobody is subscribed with them."""

from collections.abc import Sequence

from django.db.models import Q

from delivery.models import Bounce, Delivery
from delivery.services.pruning import NOT_FINISHED


def needed(destinations: Sequence[int]) -> set[int]:
    """Of these, the keys of those that got an issue, are being written to, or were reported about."""
    letters = Delivery.objects.filter(Q(issue__isnull=False) | Q(state__in=NOT_FINISHED))
    written = letters.filter(destination__in=destinations).values_list("destination_id", flat=True)
    reported = Bounce.objects.filter(destination__in=destinations).values_list("destination_id", flat=True)
    return {*written, *filter(None, reported)}
