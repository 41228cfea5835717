"""Making one call. No database, no transaction: it runs in threads."""

import logging
from dataclasses import dataclass
from datetime import datetime

from common.http import Fetched, FetchError, client
from common.secrets import opened
from common.text import one_line, shortened
from common.transactions import NetworkInTransaction
from delivery.rules.webhooks import signed_headers
from delivery.services.claiming_calls import Job
from feeds.rules.pace import retry_at

log = logging.getLogger(__name__)

SECONDS = 10.0
MAX_SAID = 300
REDIRECTED = "It redirects to another address, which is not followed: give that address instead."


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` is None when there was no answer; `error` is empty when the call was taken."""

    status: int | None
    error: str = ""
    wish: datetime | None = None


def post(job: Job, *, at: datetime) -> Answer:
    """What the receiver makes of it. Whatever goes wrong is an answer, too."""
    data = job.body.encode()
    try:
        signed = signed_headers(event_id=job.event_id, at=at, body=data, secrets=_keys(job))
        headers = {"Content-Type": "application/json", **signed}
        return _answer(client().push(job.url, body=data, headers=headers, timeout=SECONDS), at)
    except (FetchError, ValueError) as error:
        return Answer(None, str(error))
    except NetworkInTransaction:
        raise
    except Exception as error:
        log.exception("calling a webhook failed", extra={"call": job.pk})
        return Answer(None, f"{type(error).__name__}: {error}")


def _keys(job: Job) -> list[str]:
    """The secrets that sign. Raises ValueError when they cannot be read."""
    known = opened(job.secrets)
    names = ("secret", "previous") if job.both_sign else ("secret",)
    return [known[name] for name in names if name in known]


def _answer(fetched: Fetched, at: datetime) -> Answer:
    if 200 <= fetched.status < 300:
        return Answer(fetched.status)
    if 300 <= fetched.status < 400:
        return Answer(fetched.status, REDIRECTED)
    wish = retry_at(fetched.headers.get("retry-after", ""), at)
    return Answer(fetched.status, _said(fetched), wish)


def _said(fetched: Fetched) -> str:
    """The receiver's own words, where they are text."""
    kind = fetched.headers.get("content-type", "").lower()
    is_text = kind.startswith(("text/plain", "application/json", "application/problem+json"))
    said = shortened(one_line(fetched.body.decode("utf-8", "replace")), MAX_SAID) if is_text else ""
    return f"HTTP {fetched.status}: {said}" if said else f"HTTP {fetched.status}."
