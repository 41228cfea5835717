"""Standard Webhooks 1.0.0,
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from common.backoff import delay

KEY_PREFIX = "whsec_"
# "Between 24 bytes (192 bits) and 64 bytes (512 bits)."
SECRET_BYTES = 32
BOTH_SIGN_FOR = timedelta(days=1)

GIVE_UP_AFTER = timedelta(days=3)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=15), timedelta(hours=6)
# Per webhook: one that is down gets one call instead of all that wait.
FIRST_REST, LONGEST_REST = timedelta(seconds=5), timedelta(minutes=10)
LONGEST_WISH = timedelta(days=1)
HTTP_GONE = 410

CallVerdict = Literal["taken", "gone", "again"]


def secret_of(key: bytes) -> str:
    return KEY_PREFIX + base64.b64encode(key).decode()


def signed_headers(*, event_id: str, at: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Sign `id.timestamp.body` with each secret, "space delimited"."""
    moment = str(int(at.timestamp()))
    content = b".".join((event_id.encode(), moment.encode(), body))
    signatures = []
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix(KEY_PREFIX))
        signatures.append(f"v1,{base64.b64encode(hmac.digest(key, content, 'sha256')).decode()}")
    return {"webhook-id": event_id, "webhook-timestamp": moment, "webhook-signature": " ".join(signatures)}


def is_within_rotation(rotated_at: datetime | None, now: datetime) -> bool:
    return rotated_at is not None and now < rotated_at + BOTH_SIGN_FOR


def verdict(status: int | None) -> CallVerdict:
    """None is no answer. A redirect is not followed and is an error."""
    if status is not None and 200 <= status < 300:
        return "taken"
    return "gone" if status == HTTP_GONE else "again"


def next_try(
    attempts: int, *, now: datetime, give_up_at: datetime, wish: datetime | None = None
) -> datetime | None:
    """Return None if its time is over. `wish`: the receiver's Retry-After."""
    if now >= give_up_at:
        return None
    planned = now + delay(attempts, first=FIRST_PAUSE, limit=LONGEST_PAUSE)
    return min(max(planned, _granted(wish, now)), give_up_at)


def webhook_rests_until(failures: int, *, now: datetime, wish: datetime | None = None) -> datetime:
    return max(now + delay(failures, first=FIRST_REST, limit=LONGEST_REST), _granted(wish, now))


def _granted(wish: datetime | None, now: datetime) -> datetime:
    return min(wish, now + LONGEST_WISH) if wish else now
