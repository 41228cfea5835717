"""The one-time link in a browser. Django's test client sends no Origin, so it skips part of CSRF."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from feedletter_site.sign_in.setup import offer_setup

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_first_admin_is_made_and_lands_in_the_admin(
    browser: Any, live_server: Any, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    settings.SITE_URL = live_server.url
    page = browser.new_page()
    page.set_default_timeout(10_000)
    page.goto(live_server.url + str(offer_setup()))
    page.fill("input[name=email]", "ada@example.org")
    page.fill("input[name=password]", "a-long-pass-17")
    page.click("button[type=submit], input[type=submit]")
    page.wait_for_url("**/admin/")
    assert get_user_model().objects.get().is_superuser
