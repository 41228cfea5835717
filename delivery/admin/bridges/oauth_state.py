"""What an admin began and will go on with soon: in their session, encrypted, for ten minutes.

Each has a token, which is random, and opens nothing in any other session (RFC 6749 §10.12).
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.backends.base import SessionBase

from common.secrets import decrypt, encrypt

IN_SESSION = "bridges_begun"
# Of windows in which somebody is at it.
MOST_BEGUN = 4
LASTS = timedelta(minutes=10)


def new_token() -> str:
    return secrets.token_urlsafe(32)


def keep_begun(session: SessionBase, token: str, values: Mapping[str, Any], *, now: datetime) -> None:
    """Keeps what can be written as JSON."""
    entry = [_digest(token), (now + LASTS).timestamp(), encrypt({"values": json.dumps(values)})]
    session[IN_SESSION] = [*session.get(IN_SESSION, []), entry][-MOST_BEGUN:]


def look_up_begun(session: SessionBase, token: str, *, now: datetime) -> dict[str, Any] | None:
    """What was kept under that token; None if nothing was, or it is too old."""
    found = None
    for digest, ends, sealed in session.get(IN_SESSION, []):
        # (All are compared, so that the time tells nothing.)
        if hmac.compare_digest(digest, _digest(token)) and now.timestamp() < ends:
            found = sealed
    try:
        return dict(json.loads(decrypt(found)["values"])) if found else None
    except ValueError:
        return None


def take_begun(session: SessionBase, token: str, *, now: datetime) -> dict[str, Any] | None:
    """The same, and it is gone: saved at once, before anything else is done with it."""
    found = look_up_begun(session, token, now=now)
    session[IN_SESSION] = [entry for entry in session.get(IN_SESSION, []) if entry[0] != _digest(token)]
    session.save()
    return found


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
