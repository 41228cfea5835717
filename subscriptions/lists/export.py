import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain

from django.db.models import Exists, OuterRef

from common.db.bulk import pieces_by_key
from common.refused import Refused
from subscriptions.lists.reading import kind_of_list
from subscriptions.lists.store import further_upstream_ids
from subscriptions.models import Consent, Subscribable, Suppression
from subscriptions.rules.lists.formulas import as_text
from subscriptions.rules.lists.headings import COLUMNS
from subscriptions.subscribers.tags import tags_of

ROWS_A_CHUNK = 2000
NO_CONSENT = ("", "", "", "")


CONFIRMED, UNSUBSCRIBED, SUPPRESSED = "confirmed", "unsubscribed", "suppressed"
Row = Mapping[str, str]


def _for_listmonk(row: Row) -> dict[str, str]:
    known = {"language": row["language"], "tags": row["tags"]}
    given = {name: value for name, value in known.items() if value}
    return {"email": row["email"], "name": row["name"], "attributes": json.dumps(given, ensure_ascii=False)}


def _for_mailchimp(row: Row) -> dict[str, str]:
    first, _, last = row["name"].partition(" ")
    return {"Email Address": row["email"], "First Name": first, "Last Name": last, "Tags": row["tags"]}


def _for_ghost(row: Row) -> dict[str, str]:
    return {
        "email": row["email"],
        "name": row["name"],
        "subscribed_to_emails": "true" if row["status"] == CONFIRMED else "false",
        "created_at": row["added"],
        "labels": row["tags"],
    }


# Columns that the importers of other programs read.
EXPORT_FORMATS: Mapping[str, Callable[[Row], dict[str, str]]] = {
    "buttondown": lambda row: {name: row[name] for name in ("email", "name", "tags")},
    "ghost": _for_ghost,
    "listmonk": _for_listmonk,
    "mailchimp": _for_mailchimp,
}


def export_subscribers(
    *, subscribable: Subscribable, exact: bool = False, statuses: Collection[str] = (), program: str = ""
) -> Iterator[list[str]]:
    """Return the header and subscribers: all, so that an import can restore them, or some.

    With `statuses`, only people who get emails count as confirmed. A `program` gives a whole file one
    status, usually confirmed. Formulas are neutralized unless `exact`. Raises ValidationError for a bridge,
    and Refused.
    """
    kind_of_list(subscribable)
    if program and len(set(statuses)) > 1:
        raise Refused("Give one --status at a time: other programs give a whole file one status.")
    if not program:
        return _written(chain([COLUMNS], _exported(subscribable, statuses)), exact=exact)
    shape, rows = EXPORT_FORMATS[program], _exported(subscribable, statuses or [CONFIRMED])
    shaped = (shape(dict(zip(COLUMNS, cells, strict=True))) for cells in rows)
    head = shape(dict.fromkeys(COLUMNS, ""))
    return _written(chain([list(head)], (row.values() for row in shaped)), exact=exact)


def _written(rows: Iterable[Iterable[str]], *, exact: bool) -> Iterator[list[str]]:
    return (list(cells) if exact else [as_text(cell) for cell in cells] for cells in rows)


def _exported(subscribable: Subscribable, statuses: Collection[str]) -> Iterator[list[str]]:
    same = Suppression.objects.filter(kind=OuterRef("destination__kind"), core=OuterRef("destination__core"))
    # Devices belong to one browser.
    listed = subscribable.subscriptions.filter(destination__kind=subscribable.channel)
    values = listed.annotate(suppressed=Exists(same)).values_list(
        "destination__label",
        "display_name",
        "status",
        "suppressed",
        "destination__disabled_at",
        "ended_at",
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
        for label, name, status, suppressed, disabled, ended, language, *times, number, person, key in chunk:
            if suppressed or (statuses and disabled):
                status = SUPPRESSED
            elif statuses and ended:
                status = UNSUBSCRIBED
            if statuses and status not in statuses:
                continue
            yield [
                label,
                name,
                status,
                language,
                *map(_moment, times),
                *proofs.get(key, NO_CONSENT),
                " ".join(map(str, filter(None, (number, *further.get(key, ()))))),
                ", ".join(tags.get(person, ())),
            ]


def _moment(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""
