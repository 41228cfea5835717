"""All that is held about an address as one document, to take along."""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.core.serializers.json import DjangoJSONEncoder

from common.holdings import Holding, holdings
from subscriptions.models import Destination

MOST_ROWS = 100_000


def held_as_json(destination: Destination, *, now: datetime) -> Iterator[str]:
    """One JSON document in pieces, with a row a line; of each sort at most 100,000 rows, the newest."""
    yield "{\n" + f'"address": {_json(destination.label)},\n"as_of": {_json(now)}'
    for holding in holdings():
        yield from _part(holding, destination)
    yield "\n}\n"


def _part(holding: Holding, destination: Destination) -> Iterator[str]:
    yield f",\n{_json(holding.key)}: ["
    for number, row in enumerate(islice(holding.rows(destination), MOST_ROWS)):
        yield (",\n" if number else "\n") + _json(dict(row))
    yield "\n]"
    if (more := holding.count(destination) - MOST_ROWS) > 0:
        yield f",\n{_json(f'{holding.key}_left_out')}: {more}"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
