"""Converts every failure into an Outcome without secrets."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlsplit

from channels.base import Ambiguous, Message, Outcome, Permanent, Sent, Temporary
from channels.http.outcomes import ApiService, of_answer, of_failure
from channels.http.transport import LONGEST_URL, TIMEOUT_SECONDS, ApiResponse, Transport
from common.net.errors import exception_chain
from common.ports.channels import InvalidDestination
from common.transactions import NetworkInTransaction

T = TypeVar("T")
V = TypeVar("V")
MASK = "•••"
LONGEST_ID = 255
GONE = (404, 410)
# Shorter parts of an address are words that may occur in an answer.
SHORTEST_SECRET = 9


class Failed(Exception):
    """The outcome says what it means for the message."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome

    @property
    def is_about_message(self) -> bool:
        """A plainer message may be accepted."""
        return isinstance(why := self.outcome, Permanent) and not (why.disables or why.needless)


def first_accepted(versions: Iterable[V], post: Callable[[V], T]) -> T:
    """Post ever plainer versions until the service accepts one. Raises Failed."""
    refused: Failed | None = None
    for version in versions:
        try:
            return post(version)
        except Failed as failed:
            if not failed.is_about_message:
                raise
            refused = failed
    assert refused is not None  # noqa: S101 - for the type checker: there is at least one version
    raise refused


class UnreadableAnswer(ValueError):
    """The status was success, but the body does not confirm it."""


class Target(Protocol):
    """A message's or a checked destination."""

    @property
    def config(self) -> Mapping[str, str]: ...
    @property
    def secrets(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Client of one service. `secrets` are masked in outcomes.

    `url` is the address of the API. Paths, such as /me, are below it, and only their requests get the
    `headers`. `to` is the destination; `key`, `begun_at` and `progress` are explained at Session.send.
    """

    transport: Transport
    url: str = field(repr=False)
    service: ApiService
    now: datetime
    secrets: Collection[str] = field(default=(), repr=False)
    timeout: float = TIMEOUT_SECONDS
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    to: Target = field(default=Message(None), repr=False)
    key: str = ""
    begun_at: datetime | None = None
    progress: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def host(self) -> str:
        return host_of(self.url)

    @property
    def config(self) -> Mapping[str, str]:
        return self.to.config

    @property
    def answer(self) -> ApiResponse:
        """The last complete response, or one with status 0."""
        return self.transport.answer or ApiResponse(0)

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
        """Send one request and return what `read` extracts. Raises Failed.

        `read` raises UnreadableAnswer for an answer that proves nothing. `posting`: the message may exist
        afterwards, whatever the answer. `gone` returns the value for 404 and 410.
        """
        if url.startswith("/"):
            url = self.url + url
            options["headers"] = {**self.headers, **options.get("headers", {})}

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
        """Run a library call that uses our transport. Raises Failed."""
        try:
            return request()
        except Exception as error:  # noqa: BLE001 - a library casts what the server says, and trips over odd answers
            for link in exception_chain(error):
                # Our mistake, not the server's.
                if isinstance(link, NetworkInTransaction):
                    raise link from link.__cause__
            outcome = self._outcome(error, posting=posting)
        answer, breaker = self.transport.answer, self.service.breaker
        if breaker is not None and answer is not None and answer.status in breaker.statuses:
            self.transport.refusals += 1
        if gone is not None and answer is not None and answer.status in GONE:
            return gone()
        # Not `from error`: an address in its text may hold a secret, as with webhooks.
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
            outcome = Ambiguous(f"{self.host} accepted the post, but its response can’t be read.")
        else:
            outcome = Temporary(f"Nothing was posted: {self.host} doesn’t respond like {self.service.name}.")
        return masked(outcome, self.secrets)


def masked(outcome: Outcome, secrets: Collection[str]) -> Outcome:
    return outcome if isinstance(outcome, Sent) else replace(outcome, text=covered(outcome.text, secrets))


def covered(text: str, secrets: Collection[str]) -> str:
    """Mask each secret, also in its URL-encoded form."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return text


def secrets_in(url: str) -> list[str]:
    """Return parts to mask."""
    parts = urlsplit(url)
    place = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return [
        url,
        *(part for part in (place, parts.path, *re.split("[/?&=]", place)) if len(part) >= SHORTEST_SECRET),
    ]


def host_of(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def an_id(said: Any) -> str:
    """Raises UnreadableAnswer."""
    if said is None or isinstance(said, bool | list | dict) or not 0 < len(str(said)) <= LONGEST_ID:
        raise UnreadableAnswer("The server returned no usable ID.")
    return str(said)


def a_web_url(said: Any) -> str:
    is_web = isinstance(said, str) and said.startswith(("https://", "http://")) and len(said) <= LONGEST_URL
    return said if is_web else ""


def a_moment(said: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(said)
    except (ValueError, TypeError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def told_at_fields(
    address: str, *, credentials: str = "", account: str = "", refused: str = "", elsewhere: str = ""
) -> Iterator[None]:
    """Convert Failed into InvalidDestination for one of the named fields.

    `credentials` is the field of the destination's own, `account` that of shared ones. `refused` (bad
    credentials) and `elsewhere` (not the service) replace the service's text.
    """
    try:
        yield
    except Failed as failed:
        outcome = failed.outcome
        text = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
        if isinstance(outcome, Temporary) and outcome.stops_account:
            field = account or address
        elif getattr(outcome, "disables", False) or getattr(outcome, "forbidden", False):
            field, text = credentials or address, refused or text
        elif isinstance(outcome, Permanent):
            field, text = address, elsewhere or text
        else:
            field, text = address, f"it couldn’t be checked. {text}"
        raise InvalidDestination(f"{field}: {text}") from None
