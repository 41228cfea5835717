"""Asking hubs: a subscription that is due is claimed, its hub is called without a transaction."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from common.net.client import Fetched, FetchError, client
from common.passes import TimeBudget
from common.secrets import opened
from common.text import one_line, shortened
from common.transactions import NetworkInTransaction
from feeds.hubs.subscriptions import fresh_secret
from feeds.models import HubSubscription
from feeds.rules.pace import retry_at
from feeds.rules.websub import LEASE, ask_again_at, next_act

log = logging.getLogger(__name__)

CLAIM = timedelta(minutes=5)
SECONDS = 10.0
MAX_ANSWER = 1_000_000
MAX_SAID = 300
MAX_ERROR = 1_000
AT_ONCE = 500
State = HubSubscription.State


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is empty when the hub took the request; `answered` says whether there was an answer at all."""

    error: str = ""
    retry_after: str = ""
    answered: bool = True


def ask_due(*, clock: Callable[[], datetime], budget: timedelta | None = None) -> int:
    """Does what is due, longest due first, or what the budget allows. Returns how many hubs were asked.

    A hub that does not answer is left alone for the rest of the pass.
    """
    left = TimeBudget(budget)
    asked, silent = 0, set[str]()
    due = HubSubscription.objects.filter(next_at__lte=clock()).order_by("next_at", "pk").defer("seen")
    for row in list(due[:AT_ONCE]):
        if left.is_spent:
            break
        if _server(row) in silent:
            continue
        outcome = _guarded(row, clock())
        if outcome is not None:
            asked += 1
            silent |= set() if outcome.answered else {_server(row)}
    return asked


def _guarded(row: HubSubscription, now: datetime) -> Outcome | None:
    """One that fails in an unforeseen way stops nobody else: it is claimed, and comes again."""
    try:
        return ask(row, now)
    except NetworkInTransaction:
        raise
    except Exception:
        log.exception("asking a hub failed", extra={"subscription": row.pk})
        return None


def _server(row: HubSubscription) -> str:
    return urlsplit(row.hub).netloc


def ask(row: HubSubscription, now: datetime) -> Outcome | None:
    """Subscribes, renews or unsubscribes; forgets what was tried often enough. None: nothing was asked."""
    act = next_act(row.state, row.failures)
    if act == "forget":
        _as_it_was(row).delete()
        return None
    if not _claim(row, now):
        return None
    outcome = _post(row, act)
    _record(row, outcome, now)
    return outcome


def callback_url(row: HubSubscription) -> str:
    """Where the hub reaches us for this subscription."""
    return f"{settings.SITE_URL}{reverse('feeds:websub', args=[row.token])}"


def _as_it_was(row: HubSubscription) -> "QuerySet[HubSubscription]":
    return HubSubscription.objects.filter(pk=row.pk, state=row.state, next_at=row.next_at)


def _claim(row: HubSubscription, now: datetime) -> bool:
    """Counts the try and puts the next one off. Before the request: some hubs verify before they answer."""
    leaving = row.state == State.LEAVING
    changes: dict[str, Any] = {
        "state": State.LEAVING if leaving else State.PENDING,
        "failures": row.failures + 1,
        "next_at": now + CLAIM,
    }
    if not leaving and not secret_of(row):
        changes["secret"] = fresh_secret()
    if not _as_it_was(row).update(**changes):
        return False
    for name, value in changes.items():
        setattr(row, name, value)
    return True


def secret_of(row: HubSubscription) -> str:
    """The secret that pushes are signed with; "" when SECRET_KEY has changed, so that it is unreadable."""
    try:
        return opened(row.secret).get("secret", "")
    except ValueError:
        return ""


def _post(row: HubSubscription, act: str) -> Outcome:
    form = {"hub.mode": act, "hub.topic": row.topic, "hub.callback": callback_url(row)}
    if act == "subscribe":
        form["hub.secret"] = secret_of(row)
        form["hub.lease_seconds"] = str(int(LEASE.total_seconds()))
    try:
        answer = client().post(row.hub, data=form, timeout=SECONDS, max_bytes=MAX_ANSWER)
    except FetchError as error:
        return Outcome(str(error), answered=False)
    if 200 <= answer.status < 300:
        return Outcome()
    return Outcome(_refusal(answer), answer.headers.get("retry-after", ""))


def _refusal(answer: Fetched) -> str:
    """The hub's own words, where they are plain text (WebSub, 5.1: "a description of the error")."""
    is_text = answer.headers.get("content-type", "").lower().startswith("text/plain")
    said = shortened(one_line(answer.body[: 4 * MAX_SAID].decode("utf-8", "replace")), MAX_SAID)
    words = f": {said}" if is_text and said else "."
    return f"The hub answered HTTP {answer.status}{words}"


def _record(row: HubSubscription, outcome: Outcome, now: datetime) -> None:
    """When to ask anew; unless the hub has verified meanwhile, or the subscription was left."""
    again = ask_again_at(now, row.failures, taken=not outcome.error)
    again = max(again, retry_at(outcome.retry_after, now) or again)
    _as_it_was(row).update(next_at=again, last_error=shortened(one_line(outcome.error), MAX_ERROR))
