from datetime import datetime
from typing import Any

from common.cli.tables import fields_of
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import why_not


def token_row(token: ApiToken, *, now: datetime) -> dict[str, Any]:
    return {
        "id": token.pk,
        "name": token.name,
        "prefix": token.prefix,
        "scopes": ", ".join(token.scopes),
        "good": not why_not(token, now=now),
        **fields_of(token, "created_at last_used_at expires_at revoked_at"),
    }
