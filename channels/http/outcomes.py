"""Outcomes of API requests. `of_answer` has one table for all services."""

import re
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

import requests

from channels.base import NO_POST, Ambiguous, Outcome, Permanent, Temporary
from channels.http.transport import ApiResponse, Redirected
from channels.rules.breakers import Breaker
from common.net.errors import AddressRefused, exception_chain, never_left
from common.text import one_line

# Longer limits than a day are not believed.
LONGEST_RATE_LIMIT = timedelta(days=1)
LONGEST_WORDS = 500
TRY_LATER = (408, 421, 425)
# From the service or its proxy (520 to 530 are Cloudflare's); not about one message.
SERVICE_DOWN = (502, 503, 504, *range(520, 531))
# A plainer version may be accepted.
ABOUT_MESSAGE = (400, 413, 422)
ANSWER = re.compile(r"\S{1,300} answered \d{3}\b")
REASONS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (AddressRefused, "has a private address, which ALLOW_PRIVATE_NETWORKS doesn’t allow"),
    (socket.gaierror, "has no address in the DNS"),
    (ssl.SSLCertVerificationError, "has no valid certificate"),
    (ConnectionRefusedError, "refuses connections"),
    ((requests.exceptions.Timeout, TimeoutError), "didn’t answer in time"),
)


class Verdict(Enum):
    """Meaning of a service's own code."""

    TRY_AGAIN = "temporary, of this message"
    STOPS = "temporary, of the whole account"
    SHARED = "temporary, of an account that other destinations share"
    FORBIDDEN = "temporary, of the destination, until a person gives a right back"
    CREDENTIALS = "temporary, of the destination, until a person connects it again"
    MESSAGE = "this message, for good; once more, plainer, may do"
    GONE = "the post, which no longer exists"
    DESTINATION = "the destination, for good"


@dataclass(frozen=True, slots=True)
class ApiService:
    """Conventions of one service. `code` extracts its code; `verdicts` maps codes.

    `advice` is for an invalid token or destination; `gone`, if any, for the latter. `name` completes
    "does not answer like ...".
    """

    name: str
    words: Callable[[ApiResponse], str]
    code: Callable[[ApiResponse], Any] = lambda answer: None
    verdicts: Mapping[Any, Verdict] = field(default_factory=dict)
    waits: Callable[[ApiResponse], Any] = lambda answer: None
    advice: str = "Save new credentials."
    gone: str = ""
    # None: the service blocks nobody.
    breaker: Breaker | None = None
    # For a 403 with a text and an unknown code.
    unknown_refusal: Verdict = Verdict.DESTINATION
    # Success statuses with possible errors in the body.
    hides_failures_in: frozenset[int] = frozenset()


def of_answer(
    answer: ApiResponse,
    host: str,
    now: datetime,
    service: ApiService,
    *,
    cover: Callable[[str], str] = lambda text: text,
) -> Outcome:
    """`cover` masks secrets."""
    # A secret that is cut is not recognized.
    words = cover(one_line(service.words(answer)))[:LONGEST_WORDS]
    said = f"{host} answered {answer.status}" + (f": {words}" if words else "")
    # Not all services end their sentences, and advice may follow.
    said += "" if said.endswith((".", "!", "?")) else "."
    again = retry_at(answer.headers, now, said=service.waits(answer))
    usual = service.unknown_refusal if answer.status == 403 and words else _verdict(answer.status)
    match service.verdicts.get(service.code(answer), usual):
        case Verdict.TRY_AGAIN:
            return Temporary(said, retry_at=again)
        case Verdict.STOPS:
            return Temporary(said, retry_at=again, stops_lane=True, suspect=True)
        case Verdict.FORBIDDEN:
            return Temporary(said, stops_lane=True, forbidden=True)
        case Verdict.CREDENTIALS:
            return Temporary(f"{said} {service.advice}", stops_lane=True, forbidden=True)
        case Verdict.SHARED:
            text = said if answer.status == 429 else f"{said} {service.advice}"
            return Temporary(text, retry_at=again, stops_account=True)
        case Verdict.DESTINATION:
            return Permanent(f"{said} {service.gone or service.advice}", disables=True)
        case Verdict.GONE:
            return NO_POST
        case _:
            return Permanent(said)


def is_answer(text: str) -> bool:
    return ANSWER.match(text) is not None


def _verdict(status: int) -> Verdict:
    # A firewall's 403 without a text is temporary.
    if status in (403, 429) or status in SERVICE_DOWN:
        return Verdict.STOPS
    if status >= 500 or status in TRY_LATER:
        return Verdict.TRY_AGAIN
    if status == 401:
        return Verdict.CREDENTIALS
    return Verdict.MESSAGE


def of_failure(failure: BaseException, host: str, *, posting: bool) -> Outcome:
    """The answer is incomplete or a redirect."""
    links = list(exception_chain(failure))
    redirect = next((link for link in links if isinstance(link, Redirected)), None)
    if redirect:
        moved = "If it has moved, save its new address."
        return Temporary(f"Nothing was posted: {host} redirects to {redirect}. {moved}", stops_lane=True)
    if posting and not never_left(failure):
        return Ambiguous(f"The connection to {host} closed before the response was complete.")
    reasons = (words for types, words in REASONS if any(isinstance(link, types) for link in links))
    return Temporary(f"Nothing was posted: {host} {next(reasons, 'can’t be reached')}.", stops_lane=True)


def retry_at(headers: Mapping[str, str], now: datetime, *, said: Any = None) -> datetime | None:
    """Return when to retry; at most a day from now.

    From `said` (seconds, from the body), Retry-After (RFC 9110 §10.2.3; some send fractions), or the reset of
    the rate limit: an ISO time (Mastodon), or seconds since 1970 (GoToSocial, Bluesky).
    """
    moment = None
    for value in (said, headers.get("Retry-After", "")):
        if (seconds := _seconds(value)) is not None:
            moment = now + timedelta(seconds=seconds)
        elif isinstance(value, str):
            with suppress(ValueError, OverflowError):
                moment = parsedate_to_datetime(value).astimezone(UTC)
        if moment is not None:
            break
    else:
        reset = headers.get("X-RateLimit-Reset", "") or headers.get("RateLimit-Reset", "")
        with suppress(ValueError, OverflowError, OSError):
            if (seconds := _seconds(reset)) is not None:
                moment = datetime.fromtimestamp(seconds, UTC)
            else:
                moment = datetime.fromisoformat(reset)
                moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(moment, now), now + LONGEST_RATE_LIMIT) if moment else None


def _seconds(said: Any) -> float | None:
    if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said < 1e11:
        return float(said)
    if isinstance(said, str) and re.fullmatch(r"\d{1,11}(?:\.\d{1,9})?", said.strip(), re.ASCII):
        return float(said)
    return None
