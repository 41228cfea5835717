"""/discord/interactions/ and /discord/events/.

The signature, checked first, is the only authentication.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from chat.guilds.servers import note_installed
from chat.interactions.receive import answer_interaction
from chat.rules.parse import Malformed
from chat.rules.signatures import is_signed
from common.body_limits import takes_body
from common.clock import utcnow
from common.text import without_controls

LARGEST = 1024 * 1024
EVENT = 1


@takes_body(LARGEST)
@csrf_exempt
@require_POST
def interactions(request: HttpRequest) -> HttpResponse:
    """Discord tests bad signatures, and removes a URL that does not answer 401."""
    now = utcnow()
    payload = _signed(request, now)
    if payload is None:
        return _refused()
    try:
        return JsonResponse(answer_interaction(payload, now=now))
    except Malformed:
        return _refused(400)


@takes_body(LARGEST)
@csrf_exempt
@require_POST
def events(request: HttpRequest) -> HttpResponse:
    now = utcnow()
    payload = _signed(request, now)
    if payload is None:
        return _refused()
    event = payload.get("event")
    event = event if payload.get("type") == EVENT and isinstance(event, dict) else {}
    if event.get("type") == "APPLICATION_AUTHORIZED":
        note_installed(event.get("data"), now=now)
    return HttpResponse(status=204)


def _signed(request: HttpRequest, now: datetime) -> Mapping[str, Any] | None:
    """Return None without a valid signature."""
    signed = is_signed(
        request.body,
        signature=request.headers.get("X-Signature-Ed25519", ""),
        timestamp=request.headers.get("X-Signature-Timestamp", ""),
        public_key=settings.DISCORD_PUBLIC_KEY,
        now=now,
    )
    if not signed:
        return None
    try:
        payload = _storable(json.loads(request.body))
    except (ValueError, RecursionError):
        payload = None
    return payload if isinstance(payload, dict) else {}


def _storable(value: Any) -> Any:
    """Remove NUL and lone surrogates, which databases refuse. Raises RecursionError."""
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, list):
        return [_storable(part) for part in value]
    if isinstance(value, dict):
        return {without_controls(key): _storable(part) for key, part in value.items()}
    return value


def _refused(status: int = 401) -> HttpResponse:
    """Render no page, which would query the database. Without a bot, 404."""
    response = HttpResponse(status=status if settings.DISCORD_PUBLIC_KEY else 404)
    # Anybody can call this very often.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
