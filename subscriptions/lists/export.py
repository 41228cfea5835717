from collections.abc import Iterator
from datetime import datetime

from django.db.models import Exists, OuterRef

from common.db.bulk import pieces_by_key
from subscriptions.lists.plan import further_upstream_ids
from subscriptions.lists.reading import kind_of_list
from subscriptions.models import Consent, Subscribable, Suppression
from subscriptions.rules.lists.formulas import as_text
from subscriptions.rules.lists.headings import COLUMNS
from subscriptions.subscribers.tags import tags_of

ROWS_A_CHUNK = 2000
NO_CONSENT = ("", "", "", "")


def export_subscribers(*, subscribable: Subscribable, exact: bool = False) -> Iterator[list[str]]:
    """Yield the header and all subscribers, so that an import can restore them.

    Formulas are neutralized unless `exact`. Raises ValidationError for a bridge.
    """
    kind_of_list(subscribable)
    return _exported(subscribable, exact=exact)


def _exported(subscribable: Subscribable, *, exact: bool) -> Iterator[list[str]]:
    yield list(COLUMNS)
    same = Suppression.objects.filter(kind=OuterRef("destination__kind"), core=OuterRef("destination__core"))
    # Devices belong to one browser.
    listed = subscribable.subscriptions.filter(destination__kind=subscribable.channel)
    values = listed.annotate(suppressed=Exists(same)).values_list(
        "destination__label",
        "display_name",
        "status",
        "suppressed",
        "language",
        "added_at",
        "confirmed_at",
        "left_at",
        "upstream_id",
        "destination",
        "pk",
    )
    for chunk in pieces_by_key(values, ROWS_A_CHUNK):
        keys = frozenset(row[-1] for row in chunk)
        consents = Consent.objects.filter(subscription__pk__any_of=keys).order_by("at", "pk")
        consent_rows = consents.values_list("subscription_id", "at", "how", "words", "ip")
        proofs = {key: (_moment(at), how, words, ip or "") for key, at, how, words, ip in consent_rows}
        further = further_upstream_ids(keys)
        tags = tags_of(row[-2] for row in chunk)
        for label, name, status, suppressed, language, *times, upstream_id, destination, key in chunk:
            upstream_ids = " ".join(map(str, filter(None, (upstream_id, *further.get(key, ())))))
            cells = [
                label,
                name,
                "suppressed" if suppressed else status,
                language,
                *map(_moment, times),
                *proofs.get(key, NO_CONSENT),
                upstream_ids,
                ", ".join(tags.get(destination, ())),
            ]
            yield cells if exact else [as_text(cell) for cell in cells]


def _moment(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""
