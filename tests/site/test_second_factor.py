"""An authenticator app and recovery codes: set up, asked for everywhere, limited, encrypted, removed."""

import logging
import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client

from common.secrets import _keys
from feedletter_site.services.secret_rotation import rotate_secrets
from tests.site.totp import code_of

pytestmark = pytest.mark.django_db
PASSWORD = "right-horse-1"
SIGN_IN, PAGES = "/account/sign-in/", "/account/second-factor/"


@pytest.fixture(autouse=True)
def ada() -> User:
    return User.objects.create_superuser("ada", password=PASSWORD)


def typed_password(next_: str = "/admin/") -> tuple[Client, Any]:
    client = Client()
    return client, client.post(SIGN_IN, {"login": "ada", "password": PASSWORD, "next": next_})


def set_up() -> tuple[str, list[str]]:
    """Return the app's secret and the recovery codes."""
    client, _ = typed_password()
    asked = client.get(f"{PAGES}totp/activate/")
    assert asked["Location"].startswith("/account/confirm/?next=")
    client.post(asked["Location"], {"password": PASSWORD})
    page = client.get(f"{PAGES}totp/activate/").content.decode()
    (secret,) = re.findall(r"<code dir=\"ltr\">([A-Z2-7]{32})</code>", page)
    assert "data:image/svg+xml" in page
    done = client.post(f"{PAGES}totp/activate/", {"code": code_of(secret, steps=0)}, follow=True)
    codes = re.findall(r"<code dir=\"ltr\">(\d{8})</code>", done.content.decode())
    assert len(codes) == 10
    return secret, codes


def is_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def test_the_password_alone_signs_nobody_in() -> None:
    secret, _ = set_up()
    client, answer = typed_password()
    assert answer["Location"] == f"{PAGES}authenticate/"
    assert not is_in(client)
    assert "Enter the code" in client.get("/admin/", follow=True).content.decode()
    assert "Incorrect code" in client.post(answer["Location"], {"code": "000000"}).content.decode()
    done = client.post(answer["Location"], {"code": code_of(secret)})
    assert (done["Location"], is_in(client)) == ("/admin/", True)


def test_a_code_works_once_and_so_does_a_recovery_code() -> None:
    secret, codes = set_up()
    for code, works in (
        (code_of(secret), True),
        (code_of(secret), False),
        (codes[0], True),
        (codes[0], False),
    ):
        client, answer = typed_password()
        client.post(answer["Location"], {"code": code})
        assert is_in(client) is works


def test_a_sign_in_that_waits_for_a_code_ends_when_the_password_changes() -> None:
    secret, _ = set_up()
    client, answer = typed_password()
    ada = User.objects.get()
    ada.set_password("another-horse-2")
    ada.save()
    assert client.post(answer["Location"], {"code": code_of(secret)})["Location"] == SIGN_IN
    assert not is_in(client)


def test_after_twenty_wrong_codes_even_the_right_one_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    secret, _ = set_up()
    with caplog.at_level(logging.WARNING):
        for number in range(20):
            client, answer = typed_password()
            client.post(answer["Location"], {"code": "000000"}, REMOTE_ADDR=f"198.51.100.{number}")
    # Of a process that has restarted.
    cache.clear()
    client, answer = typed_password()
    refused = client.post(answer["Location"], {"code": code_of(secret)})
    assert "Too many" in refused.content.decode()
    assert not is_in(client)
    assert "Sign-in failed from 198.51.100.3: a wrong code of 'ada'" in caplog.text


def test_codes_of_a_network_over_its_limit_count_for_the_user_too() -> None:
    secret, _ = set_up()
    client, answer = typed_password()
    for _ in range(20):
        client.post(answer["Location"], {"code": "000000"}, REMOTE_ADDR="198.51.100.3")
    client.post(answer["Location"], {"code": code_of(secret)})
    assert not is_in(client)


def test_it_is_set_up_only_by_who_knows_the_password() -> None:
    client = Client()
    client.force_login(User.objects.get())
    for page in ("totp/activate/", "webauthn/add/"):
        for method in (client.get, client.post):
            assert "/account/confirm/" in method(PAGES + page)["Location"]
    assert not Authenticator.objects.exists()


def test_a_session_alone_removes_nothing_and_shows_no_codes() -> None:
    set_up()
    client = Client()
    client.force_login(User.objects.get())
    for page in ("totp/deactivate/", "recovery-codes/generate/"):
        assert "/account/confirm/" in client.post(PAGES + page)["Location"]
    for page in ("recovery-codes/", "recovery-codes/download/"):
        assert not re.search(r"\d{8}", client.get(PAGES + page).content.decode())
    assert Authenticator.objects.count() == 2


def test_secrets_are_encrypted_and_follow_a_new_key(settings: Any) -> None:
    secret, codes = set_up()
    assert secret not in str(list(Authenticator.objects.values()))
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of the site, long enough for all of it"
    assert rotate_secrets(change=True).rotated == 2
    settings.SECRET_KEY_FALLBACKS = []
    _keys.cache_clear()
    for code in (code_of(secret), codes[1]):
        client, answer = typed_password()
        client.post(answer["Location"], {"code": code})
        assert is_in(client)


def test_the_operator_removes_it_for_who_lost_it(capsys: pytest.CaptureFixture[str]) -> None:
    set_up()
    call_command("remove_second_factor", "ada")
    assert "ada has no second factor any more." in capsys.readouterr().out
    client, answer = typed_password()
    assert (answer["Location"], is_in(client)) == ("/admin/", True)
