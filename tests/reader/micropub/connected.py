"""Ada and her own site, which accepts her posts."""

from dataclasses import asdict
from typing import Any

import pytest
from django.core.cache import cache

from reader.indieauth.discovery import discover
from reader.micropub import site
from reader.models import Reader
from tests.factories import NOW
from tests.servers.micropub_site import MicropubSite
from tests.servers.own_site import OwnSite


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    cache.clear()


@pytest.fixture
def ours(own_site: OwnSite) -> MicropubSite:
    """Return the Micropub server of Ada's site."""
    return MicropubSite(own_site)


@pytest.fixture
def connected(ada: Reader, ours: MicropubSite) -> Reader:
    """Return Ada, who authorized posting to her site."""
    ada.me, ada.verified_at = ours.site.me, NOW
    ada.endpoints = asdict(discover(ours.site.me))
    ada.micropub = {"token": ours.token, "refresh_token": "", "scope": "create media", "ends_at": ""}
    ada.save()
    ada.refresh_from_db()
    ours.site.server.requests.clear()
    return ada


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Shorten the time-out of responses."""
    monkeypatch.setattr(site, "POST_SECONDS", 0.4)
