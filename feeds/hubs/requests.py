"""Made without a transaction."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from common.net.client import FetchError, client
from common.passes import TimeBudget
from common.secrets import opened
from common.text import one_line, shortened
from common.transactions import NetworkInTransaction
from feeds.hubs.subscriptions import fresh_secret
from feeds.models import HubSubscription
from feeds.rules.pace import retry_at
from feeds.rules.websub import USUAL_LEASE, ask_again_at, next_act

log = logging.getLogger(__name__)

CLAIM = timedelta(minutes=5)
HUB_TIMEOUT = 10.0
MAX_ANSWER = 1_000_000
MAX_WORDS_OF_HUB = 300
MAX_ERROR = 1_000
REQUESTS_A_PASS = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is empty if the hub accepted."""

    error: str = ""
    retry_after: str = ""
    answered: bool = True


def ask_due(*, clock: Callable[[], datetime], budget: timedelta | None = None) -> int:
    """Send due requests, longest due first. Returns how many.

    A hub that does not answer gets no more in this pass.
    """
    left = TimeBudget(budget)
    asked, silent = 0, set[str]()
    due = HubSubscription.objects.filter(next_at__lte=clock()).order_by("next_at", "pk").defer("seen")
    for row in list(due[:REQUESTS_A_PASS]):
        if left.is_spent:
            break
        if _server(row) in silent:
            continue
        try:
            outcome = send_due_request(row, clock())
        except NetworkInTransaction:
            raise
        except Exception:
            # Claimed, so it is retried later.
            log.exception("asking a hub failed", extra={"subscription": row.pk})
            continue
        if outcome is not None:
            asked += 1
            silent |= set() if outcome.answered else {_server(row)}
    return asked


def _server(row: HubSubscription) -> str:
    return urlsplit(row.hub).netloc


def send_due_request(row: HubSubscription, now: datetime) -> Outcome | None:
    """Send one request, or delete the row after enough tries. Returns None without a request."""
    act = next_act(row.state, row.failures)
    if act == "forget":
        _as_it_was(row).delete()
        return None
    # Written before the request, as some hubs verify before they answer.
    leaving = row.state == HubSubscription.State.LEAVING
    changes: dict[str, Any] = {
        "state": HubSubscription.State.LEAVING if leaving else HubSubscription.State.PENDING,
        "failures": row.failures + 1,
        "next_at": now + CLAIM,
    }
    if not leaving and not secret_of(row):
        changes["secret"] = fresh_secret()
    if not _as_it_was(row).update(**changes):
        return None
    for name, value in changes.items():
        setattr(row, name, value)
    outcome = _post(row, act)
    again = ask_again_at(now, row.failures, taken=not outcome.error)
    again = max(again, retry_at(outcome.retry_after, now) or again)
    # The hub may have verified meanwhile.
    _as_it_was(row).update(next_at=again, last_error=shortened(one_line(outcome.error), MAX_ERROR))
    return outcome


def callback_url(row: HubSubscription) -> str:
    return f"{settings.SITE_URL}{reverse('feeds:websub', args=[row.token])}"


def _as_it_was(row: HubSubscription) -> "QuerySet[HubSubscription]":
    return HubSubscription.objects.filter(pk=row.pk, state=row.state, next_at=row.next_at)


def secret_of(row: HubSubscription) -> str:
    """Return "" if it is unreadable, as SECRET_KEY has changed."""
    try:
        return opened(row.secret).get("secret", "")
    except ValueError:
        return ""


def _post(row: HubSubscription, act: str) -> Outcome:
    form = {"hub.mode": act, "hub.topic": row.topic, "hub.callback": callback_url(row)}
    if act == "subscribe":
        form["hub.secret"] = secret_of(row)
        form["hub.lease_seconds"] = str(int(USUAL_LEASE.total_seconds()))
    try:
        answer = client().post(row.hub, data=form, timeout=HUB_TIMEOUT, max_bytes=MAX_ANSWER)
    except FetchError as error:
        return Outcome(str(error), answered=False)
    if 200 <= answer.status < 300:
        return Outcome()
    # WebSub §5.1: "a description of the error".
    is_text = answer.headers.get("content-type", "").lower().startswith("text/plain")
    description = shortened(
        one_line(answer.body[: 4 * MAX_WORDS_OF_HUB].decode("utf-8", "replace")), MAX_WORDS_OF_HUB
    )
    words = f": {description}" if is_text and description else "."
    return Outcome(f"The hub answered HTTP {answer.status}{words}", answer.headers.get("retry-after", ""))
