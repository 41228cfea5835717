"""One-time links that sign the demo's admin in. They work for an hour, and only in a demo."""

import hashlib
import json
import secrets
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from common.clock import utcnow

LINKS = "sign-in-links"
LIFE = timedelta(hours=1)
BACKEND = "django.contrib.auth.backends.ModelBackend"


def offer_sign_in(user: User, path: str, *, now: datetime) -> str:
    """Return the path of a link that signs in once and leads to `path`. Its file has only a digest."""
    token = secrets.token_urlsafe(16)
    file = link_file(token)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(json.dumps([user.pk, path, (now + LIFE).timestamp()]), encoding="ascii")
    return reverse("demo_sign_in", args=[token])


def link_file(token: str) -> Path:
    return Path(settings.DATA_DIR) / LINKS / hashlib.sha256(token.encode()).hexdigest()


@never_cache
@require_GET
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in. A used or expired link leads to the admin's sign-in page."""
    file = link_file(token)
    try:
        user, path, until = json.loads(file.read_text(encoding="ascii"))
        # Only one of two requests removes it.
        file.unlink()
    except FileNotFoundError:
        return HttpResponseRedirect(reverse("admin:index"))
    if utcnow().timestamp() >= until:
        return HttpResponseRedirect(path)
    login(request, User.objects.get(pk=user), BACKEND)
    return HttpResponseRedirect(path)
