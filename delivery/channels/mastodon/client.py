"""One account's API: Mastodon.py, with every failure turned into an Outcome."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import requests
from mastodon import Mastodon

from common.net.errors import exception_chain
from common.transactions import NetworkInTransaction
from delivery.channels.base import Ambiguous, Outcome, Temporary
from delivery.channels.mastodon.compose import Message
from delivery.channels.mastodon.instance import Instance, ask
from delivery.channels.mastodon.links import holds
from delivery.channels.mastodon.outcomes import of_answer, of_failure
from delivery.channels.mastodon.transport import Transport

T = TypeVar("T")
STATUSES_LOOKED_AT = 40
LONGEST_ID = 255
CLOCKS_DIFFER = timedelta(minutes=10)


class Failed(Exception):
    """The request did not do what it should; the outcome says what that means for the post."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


class Client:
    """Each method makes one request or two. Raises Failed."""

    def __init__(self, transport: Transport, url: str, token: str, timeout: float, now: datetime) -> None:
        self.host, self.now, self._transport = urlsplit(url).netloc, now, transport
        self._api = Mastodon(
            api_base_url=url,
            session=cast(requests.Session, transport),
            request_timeout=timeout,
            ratelimit_method="throw",
            version_check_mode="none",
            user_agent="",  # the session has its own
        )
        # Not by the constructor, which reads a file where the token names one.
        self._api.access_token = token

    def instance(self) -> Instance:
        """The limits of the instance."""
        return self._call(lambda: ask(self._api))

    def account(self) -> str:
        """The account the token is for, such as bot."""
        return self._call(lambda: _id(self._api.account_verify_credentials()["acct"]))

    def post(self, message: Message, text: str, key: str) -> str:
        """Posts the text as a status; its id."""
        return self._call(
            lambda: _id(
                self._api.status_post(
                    text,
                    visibility=message.visibility,
                    spoiler_text=message.spoiler or None,
                    language=message.language or None,
                    idempotency_key=key,
                )["id"]
            ),
            posting=True,
        )

    def find(self, link: str, *, since: datetime) -> str:
        """The id of the account's own status with that link, among its last 40 and since then; else ""."""
        return self._call(lambda: self._find(link, since - CLOCKS_DIFFER))

    def _find(self, link: str, since: datetime) -> str:
        me = self._api.account_verify_credentials()["id"]
        statuses = self._api.account_statuses(me, limit=STATUSES_LOOKED_AT, exclude_reblogs=True)
        for status in statuses:
            created = status.get("created_at")
            if isinstance(created, datetime) and not created.tzinfo:
                created = created.replace(tzinfo=UTC)
            # A status without a readable date counts: better looked at than posted twice.
            if isinstance(created, datetime) and created < since:
                continue
            if holds(str(status.get("content", "")), link):
                return _id(status["id"])
        return ""

    def _call(self, request: Callable[[], T], *, posting: bool = False) -> T:
        try:
            return request()
        except Exception as error:  # the library casts what the server says, and trips over odd answers
            for link in exception_chain(error):
                # A request inside a transaction is our own mistake, not the server's.
                if isinstance(link, NetworkInTransaction):
                    raise link from link.__cause__
            answer = self._transport.answer
            if answer is None or 300 <= answer.status < 400:
                outcome: Outcome = of_failure(error, self.host, posting=posting)
            elif answer.status >= 400:
                outcome = of_answer(answer, self.host, self.now)
            elif posting:
                outcome = Ambiguous(f"{self.host} took the post, but its answer cannot be read.")
            else:
                said = f"Nothing was posted: {self.host} does not answer like a Mastodon instance."
                outcome = Temporary(said)
            raise Failed(outcome) from error


def _id(said: Any) -> str:
    """An id that can be kept; the library gives None where the server gave none."""
    if said is None or not 0 < len(str(said)) <= LONGEST_ID:
        raise ValueError("The server named no usable id.")
    return str(said)
