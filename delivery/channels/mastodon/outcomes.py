"""What became of a request to an instance: its answer, or how the network failed. Nothing here sends."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import requests
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from common.net.errors import AddressRefused, exception_chain
from delivery.channels.base import Ambiguous, Outcome, Permanent, Temporary
from delivery.channels.mastodon.transport import ApiResponse, Redirected

# Mastodon counts 300 statuses in 3 hours; a server that names more than a day is not believed.
LONGEST_RATE_LIMIT = timedelta(days=1)
TRY_LATER = (408, 421, 425)
# Of the instance, or of a proxy before it (520 to 530 are Cloudflare's), not of this one post.
INSTANCE_DOWN = (502, 503, 504, *range(520, 531))
# Somewhere in the chain of a failure whose request never left: no address, no connection, no trust.
# Not every SSLError is here: a server that dies while answering ends in one too.
BEFORE_SENDING = (
    AddressRefused,
    NewConnectionError,
    ConnectTimeoutError,
    socket.gaierror,
    ssl.SSLCertVerificationError,
    requests.exceptions.ConnectTimeout,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidHeader,
)

REASONS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (AddressRefused, "has a private address, which ALLOW_PRIVATE_NETWORKS does not name"),
    (socket.gaierror, "has no address in the DNS"),
    (ssl.SSLCertVerificationError, "has no valid certificate"),
    (ConnectionRefusedError, "refuses connections"),
    ((requests.exceptions.Timeout, TimeoutError), "did not answer in time"),
)


def of_answer(answer: ApiResponse, host: str, now: datetime) -> Outcome:
    """The outcome of an answer that is no success."""
    said = f"{host} answered {answer.status}" + (f": {answer.words}" if answer.words else ".")
    if answer.status == 429 or answer.status >= 500 or answer.status in TRY_LATER:
        stops = answer.status == 429 or answer.status in INSTANCE_DOWN
        return Temporary(said, retry_at=retry_at(answer.headers, now), stops_lane=stops, suspect=stops)
    if answer.status == 401:
        return Permanent(f"{said} The access token is no longer good: save a new one.", disables=True)
    if answer.status == 403 and not answer.words:
        # A firewall before the instance says this, and changes its mind.
        return Temporary(said, stops_lane=True, suspect=True)
    if answer.status == 403:
        return Permanent(f"{said} The token may not post: it needs the scope write:statuses.", disables=True)
    return Permanent(said)


def of_failure(failure: BaseException, host: str, *, posting: bool) -> Outcome:
    """The outcome of a request that has no complete answer, or was pointed elsewhere."""
    links = list(exception_chain(failure))
    redirect = next((link for link in links if isinstance(link, Redirected)), None)
    if redirect:
        moved = "If the instance has moved, save its new address."
        return Temporary(f"Nothing was posted: {host} redirects to {redirect}. {moved}", stops_lane=True)
    if posting and not any(isinstance(link, BEFORE_SENDING) for link in links):
        return Ambiguous(f"The connection to {host} ended before its answer was complete.")
    reasons = (words for types, words in REASONS if any(isinstance(link, types) for link in links))
    return Temporary(f"Nothing was posted: {host} {next(reasons, 'cannot be reached')}.", stops_lane=True)


def retry_at(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """When the instance said to come back: Retry-After (RFC 9110 §10.2.3), else X-RateLimit-Reset."""
    said, moment = headers.get("Retry-After", ""), None
    if said.isdecimal():
        moment = now + timedelta(seconds=min(int(said[:9]), LONGEST_RATE_LIMIT.total_seconds()))
    else:
        with suppress(ValueError, OverflowError):
            moment = parsedate_to_datetime(said).astimezone(UTC)
    if moment is None:
        # An ISO time from Mastodon, seconds since 1970 from GoToSocial.
        said = headers.get("X-RateLimit-Reset", "")
        with suppress(ValueError, OverflowError, OSError):
            if said.isdecimal():
                moment = datetime.fromtimestamp(int(said), UTC)
            else:
                moment = datetime.fromisoformat(said)
                moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(moment, now), now + LONGEST_RATE_LIMIT) if moment else None
