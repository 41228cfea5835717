"""When and where each session was last used."""

import hashlib
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_in
from django.core.cache import cache
from django.http import HttpRequest

# A row is written at most this often for each session.
SEEN_EVERY = timedelta(minutes=5)


def note_session(request: HttpRequest) -> None:
    if request.user.is_authenticated and _is_due(request):
        UserSession.objects.create_from_request(request)


def _is_due(request: HttpRequest) -> bool:
    """Return whether the session wasn't noted lately. The cache doesn't get its key, which signs in."""
    digest = hashlib.sha256((request.session.session_key or "").encode()).hexdigest()
    return bool(cache.add(f"session-seen:{digest}", 1, SEEN_EVERY.seconds))


def _signed_in(sender: Any, request: HttpRequest, **_: Any) -> None:
    """allauth has written the row."""
    _is_due(request)


def watch_users() -> None:
    user_logged_in.connect(_signed_in, dispatch_uid="feedletter_site.team.sessions")
