from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from subscriptions.models import Subscribable
from tests.delivery.sms.texting import a_newsletter, an_account
from tests.servers.services.twilio import Twilio


@pytest.fixture
def twilio(monkeypatch: pytest.MonkeyPatch, settings: Any, loopback_allowed: None) -> Iterator[Twilio]:
    """Run a fake Twilio that the channel calls; the site has a public name."""
    cache.clear()
    settings.SITE_URL = "https://letters.example"
    with Twilio() as running:
        monkeypatch.setattr("channels.sms.channel.TWILIO_API", running.url)
        yield running


@pytest.fixture
def newsletter(db: None, twilio: Twilio) -> Subscribable:
    an_account()
    return a_newsletter()
