"""Check for stages with work: one statement per second."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime

from chat.work import to_answer
from common.optional_apps import switched_on
from delivery.work import to_call, to_complete, to_import, to_send
from feedletter_site.migrate_from.take_over import to_take_in
from feeds.work import to_poll, to_read
from reader.work import to_ask, to_check, to_compose, to_follow, to_place
from subscriptions.work import to_assign, to_take_over

# Stages without a query always tick. A query must cover all work with which a pass begins.
EVERY_QUESTION: Mapping[str, Callable[[datetime], Sequence[QuerySet[Any]]]] = {
    "feeds.poll": to_poll,
    "feeds.pushes": to_read,
    "subscriptions.assign": to_assign,
    "subscriptions.lists": to_take_over,
    "delivery.complete": to_complete,
    "delivery.send": to_send,
    "delivery.webhooks": to_call,
    "delivery.old_issues": to_import,
    "chat.answer": to_answer,
    "feedletter_site.migrate_from": to_take_in,
    "reader.place": to_place,
    "reader.lists": to_follow,
    "reader.filters": to_ask,
    "reader.mentions": to_check,
    "reader.compose": to_compose,
}
QUESTIONS = switched_on(EVERY_QUESTION)


class _Distance(NamedTuple):
    length: timedelta


_MADE_AT = datetime(2000, 1, 1, tzinfo=UTC)


def stages_without_work(now: datetime) -> set[str]:
    sql, values = _statement(connection.vendor)
    adapted = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(
            sql, [adapted(now + value.length) if isinstance(value, _Distance) else value for value in values]
        )
        answers = cursor.fetchone()
    return {stage for stage, has_work in zip(QUESTIONS, answers, strict=True) if not has_work}


@lru_cache
def _statement(vendor: str) -> tuple[str, list[Any]]:
    """Return SQL with times relative to now.

    Cached: compiling takes twenty times as long as executing.
    """
    columns, values = [], []
    for questions in QUESTIONS.values():
        asked = []
        for rows in questions(_MADE_AT):
            sql, params = rows.order_by().query.exists().sql_with_params()
            asked.append(f"EXISTS ({sql})")
            for param in params:
                # SQLite's times are text.
                moment = parse_datetime(param) if isinstance(param, str) else param
                if not isinstance(moment, datetime):
                    values.append(param)
                    continue
                aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                values.append(_Distance(aware - _MADE_AT))
        columns.append(" OR ".join(asked))
    return f"SELECT {', '.join(columns)}", values
