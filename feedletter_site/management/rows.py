from datetime import datetime
from typing import Any

from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import why_not


def token_row(token: ApiToken, *, now: datetime) -> dict[str, Any]:
    return {
        "id": token.pk,
        "name": token.name,
        "prefix": token.prefix,
        "scopes": ", ".join(token.scopes),
        "good": not why_not(token, now=now),
        "created_at": token.created_at,
        "last_used_at": token.last_used_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }
