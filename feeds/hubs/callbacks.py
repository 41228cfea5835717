"""Messages of hubs at our callback (W3C WebSub §5.2, §5.3)."""

import hmac
import re
from datetime import datetime

from common.text import one_line, shortened
from feeds.models import HubSubscription
from feeds.rules.websub import DENIED_FOR, is_expected, is_repeated, lease_of, renew_at

TOKEN = re.compile(r"[A-Za-z0-9_-]{20,64}", re.ASCII)
MAX_REASON = 300


def find(token: str) -> HubSubscription | None:
    if not TOKEN.fullmatch(token):
        return None
    row = HubSubscription.objects.filter(token=token).first()
    return row if row is not None and hmac.compare_digest(row.token, token) else None


def confirm(*, token: str, mode: str, topic: str, now: datetime, lease: str = "", reason: str = "") -> bool:
    """Return whether the message matches a request of ours and was applied."""
    row = find(token)
    if row is None or topic != row.topic:
        return False
    granted = lease_of(lease)
    if is_repeated(mode, row.state, expires_at=row.expires_at, lease=granted, now=now):
        return True
    if not is_expected(mode, row.state):
        return False
    same = HubSubscription.objects.filter(pk=row.pk, state=row.state)
    if row.state == HubSubscription.State.LEAVING:
        return bool(same.delete()[0])
    if mode == "denied":
        state, expires_at, next_at = HubSubscription.State.DENIED, None, now + DENIED_FOR
        error = shortened(one_line(reason), MAX_REASON)
    else:
        state, expires_at, next_at = HubSubscription.State.ACTIVE, now + granted, renew_at(now, granted)
        error = ""
    changed = same.update(state=state, expires_at=expires_at, next_at=next_at, failures=0, last_error=error)
    return bool(changed)
