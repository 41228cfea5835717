"""Handing out a list of subscribers: every column that an import takes, streamed."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Exists, OuterRef

from subscriptions.lists.plan import further_numbers
from subscriptions.lists.reading import kind_of_list
from subscriptions.models import Consent, Subscribable, Suppression
from subscriptions.rules.formulas import as_text
from subscriptions.rules.list_headings import COLUMNS

CHUNK = 2000
NO_CONSENT = ("", "", "", "")


def export_subscribers(*, subscribable: Subscribable, exact: bool = False) -> Iterator[list[str]]:
    """The header, then a row for each subscriber whatever their status. Imports again as it was.

    Cells that spreadsheets take for formulas have an apostrophe in front, unless they are wanted `exact`.
    Raises ValidationError for a bridge.
    """
    kind_of_list(subscribable)
    return _exported(subscribable, exact=exact)


def _exported(subscribable: Subscribable, *, exact: bool) -> Iterator[list[str]]:
    yield list(COLUMNS)
    same = Suppression.objects.filter(kind=OuterRef("destination__kind"), core=OuterRef("destination__core"))
    rows = subscribable.subscriptions.annotate(suppressed=Exists(same)).order_by("pk")
    values = rows.values_list(
        "pk",
        "destination__label",
        "display_name",
        "status",
        "suppressed",
        "language",
        "added_at",
        "confirmed_at",
        "left_at",
        "upstream_id",
    ).iterator(chunk_size=CHUNK)
    while chunk := list(islice(values, CHUNK)):
        proofs = _latest_consents(row[0] for row in chunk)
        numbers = further_numbers(row[0] for row in chunk)
        for row in chunk:
            old = " ".join(map(str, filter(None, (row[-1], *numbers.get(row[0], ())))))
            cells = [*_cells(row), *proofs.get(row[0], NO_CONSENT), old]
            yield cells if exact else [as_text(cell) for cell in cells]


def _cells(row: tuple[Any, ...]) -> list[str]:
    _, label, name, status, suppressed, language, added, confirmed, left, _ = row
    said = "suppressed" if suppressed else status
    return [label, name, said, language, _moment(added), _moment(confirmed), _moment(left)]


def _latest_consents(keys: Iterable[int]) -> dict[int, tuple[str, str, str, str]]:
    """When, how, the words and the IP address of each one's latest consent."""
    rows = Consent.objects.filter(subscription__pk__any_of=frozenset(keys)).order_by("at", "pk")
    found = rows.values_list("subscription_id", "at", "how", "words", "ip")
    return {key: (_moment(at), how, words, ip or "") for key, at, how, words, ip in found}


def _moment(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""
