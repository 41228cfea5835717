"""Asks a service's API, and turns every end but a good answer into an Outcome that names no secret."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.http.address import LONGEST_URL
from channels.http.outcomes import ApiService, of_answer, of_failure
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse, Transport
from common.net.errors import exception_chain
from common.transactions import NetworkInTransaction

T = TypeVar("T")
MASK = "•••"
LONGEST_ID = 255
GONE = (404, 410)
# Shorter parts of an address, such as "services", are words that an answer may well have.
SHORTEST_SECRET = 9


class Failed(Exception):
    """The request did not do what it should; the outcome says what that means for the message."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome

    @property
    def is_about_message(self) -> bool:
        """Whether a plainer message may be taken."""
        return isinstance(self.outcome, Permanent) and not self.outcome.disables


class UnreadableAnswer(ValueError):
    """The service said yes, in an answer that proves nothing."""


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Requests of one message to one service. `secrets` are masked in whatever an outcome says."""

    transport: Transport
    host: str
    service: ApiService
    now: datetime
    secrets: Collection[str] = ()
    timeout: float = TIMEOUT_SECONDS

    def call(
        self,
        method: str,
        url: str,
        *,
        read: Callable[[ApiResponse], T],
        posting: bool = False,
        gone: Callable[[], T] | None = None,
        **options: Any,
    ) -> T:
        """What `read` finds in the answer to one request, as requests takes it. Raises Failed.

        `read` raises UnreadableAnswer for an answer that proves nothing. `posting`: after it the message may
        stand at the service, whatever the answer says. `gone` has the value when nothing is there.
        """

        def request() -> T:
            self.transport.request(method, url, **{"timeout": self.timeout, **options})
            answer = self.transport.answer
            if answer is None or not answer.ok:
                raise UnreadableAnswer("no success")
            return read(answer)

        return self.ask(request, posting=posting, gone=gone)

    def ask(
        self, request: Callable[[], T], *, posting: bool = False, gone: Callable[[], T] | None = None
    ) -> T:
        """What `request` returns, which sends through our transport: a library's call. Raises Failed."""
        try:
            return request()
        except Exception as error:  # noqa: BLE001 - a library casts what the server says, and trips over odd answers
            for link in exception_chain(error):
                # A request inside a transaction is our own mistake, not the server's.
                if isinstance(link, NetworkInTransaction):
                    raise link from link.__cause__
            outcome = self._outcome(error, posting=posting)
        answer, breaker = self.transport.answer, self.service.breaker
        if breaker is not None and answer is not None and answer.status in breaker.statuses:
            self.transport.refusals += 1
        if gone is not None and answer is not None and answer.status in GONE:
            return gone()
        # Not `from error`: the address in its text may hold a secret, as webhooks' do.
        raise Failed(outcome) from None

    def _outcome(self, error: Exception, *, posting: bool) -> Outcome:
        answer = self.transport.answer
        if answer is None or 300 <= answer.status < 400:
            outcome = of_failure(error, self.host, posting=posting)
        elif not answer.ok or (
            answer.status in self.service.hides_failures_in and self.service.words(answer)
        ):
            cover = partial(covered, secrets=self.secrets)
            outcome = of_answer(answer, self.host, self.now, self.service, cover=cover)
        elif posting:
            outcome = Ambiguous(f"{self.host} took the post, but its answer cannot be read.")
        else:
            outcome = Temporary(f"Nothing was posted: {self.host} does not answer like {self.service.name}.")
        return masked(outcome, self.secrets)


def masked(outcome: Outcome, secrets: Collection[str]) -> Outcome:
    """The outcome with each secret, also as it stands in an address, covered."""
    return outcome if isinstance(outcome, Sent) else replace(outcome, text=covered(outcome.text, secrets))


def covered(text: str, secrets: Collection[str]) -> str:
    """The text with each secret, also as it stands in an address, covered."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return text


def secrets_in(url: str) -> list[str]:
    """What no outcome may show of an address that is itself a secret: the whole, and its longer parts."""
    parts = urlsplit(url)
    place = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return [
        url,
        *(part for part in (place, parts.path, *re.split("[/?&=]", place)) if len(part) >= SHORTEST_SECRET),
    ]


def host_of(url: str) -> str:
    """Host and port of an address, as outcomes name the service."""
    return urlsplit(url).netloc.rpartition("@")[2]


def an_id(said: Any) -> str:
    """An id that can be kept. Raises UnreadableAnswer."""
    if said is None or isinstance(said, bool | list | dict) or not 0 < len(str(said)) <= LONGEST_ID:
        raise UnreadableAnswer("The server named no usable id.")
    return str(said)


def a_web_url(said: Any) -> str:
    """An address that people can be sent to; "" if it is none."""
    is_web = isinstance(said, str) and said.startswith(("https://", "http://")) and len(said) <= LONGEST_URL
    return said if is_web else ""


def a_moment(said: Any) -> datetime | None:
    """A time in ISO 8601; None if it is none."""
    try:
        moment = datetime.fromisoformat(said)
    except (ValueError, TypeError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
