from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import Settings

from common.admin.html import object_url
from feedletter_site.sign_in.setup import offer_setup
from subscriptions.branding.brands import admin_zone
from tests.factories import NOW, FeedFactory

pytestmark = pytest.mark.django_db
GOOD = {"email": "ada@example.org", "password": "a-long-pass-17"}


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def link() -> str:
    path = offer_setup()
    assert path
    return path


def test_the_link_shows_a_form_and_changes_nothing(client: Client, link: str) -> None:
    for _ in range(2):
        answer = client.get(link)
        assert answer.status_code == 200
        assert "Create your account" in answer.content.decode()
    assert not get_user_model().objects.exists()


def test_the_page_is_not_stored_and_does_not_tell_its_address(client: Client, link: str) -> None:
    answer = client.get(link)
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "same-origin"


def test_before_that_the_sign_in_says_where_the_link_is_and_after_it_signs_in(
    client: Client, link: str
) -> None:
    page = client.get("/admin/", follow=True).content.decode()
    assert "printed a link" in page
    assert link not in page
    assert "password" not in page
    client.post(link, GOOD)
    client.logout()
    assert 'name="password"' in client.get("/admin/", follow=True).content.decode()


def test_a_post_makes_the_admin_and_logs_in(client: Client, link: str) -> None:
    answer = client.post(link, GOOD)
    assert answer["Location"] == "/admin/"
    user = get_user_model().objects.get()
    assert (user.username, user.is_superuser, user.is_staff) == ("ada@example.org", True, True)
    assert client.session["_auth_user_id"] == str(user.pk)


def test_the_link_dies_with_use(client: Client, link: str, data_dir: Path) -> None:
    client.post(link, GOOD)
    assert not (data_dir / "setup_token").exists()
    again = client.post(link, {**GOOD, "email": "mallory@example.org"})
    assert (again.status_code, client.get(link).status_code) == (404, 404)
    assert get_user_model().objects.count() == 1


def test_the_file_gives_the_token_to_nobody(link: str, data_dir: Path) -> None:
    stored = data_dir / "setup_token"
    assert link.split("/")[2] not in stored.read_text()
    assert stored.stat().st_mode & 0o077 == 0


def test_a_newer_link_ends_the_older_one(client: Client, link: str) -> None:
    newer = offer_setup()
    assert newer
    assert client.get(link).status_code == 404
    assert client.get(newer).status_code == 200


def test_a_wrong_link_opens_nothing(client: Client, link: str) -> None:
    assert client.get("/setup/guessed/").status_code == 404
    assert client.post("/setup/guessed/", GOOD).status_code == 404


def test_no_link_is_offered_when_there_is_an_admin(client: Client, link: str) -> None:
    get_user_model().objects.create_superuser("root", "root@example.org", "x")
    assert offer_setup() is None
    assert client.get(link).status_code == 404


def test_an_admin_made_meanwhile_ends_the_link(client: Client, link: str) -> None:
    get_user_model().objects.create_superuser("root", "root@example.org", "x")
    assert client.post(link, GOOD).status_code == 404


def test_a_weak_password_is_refused_and_the_link_stays(client: Client, link: str) -> None:
    answer = client.post(link, {**GOOD, "password": "12345"})
    assert "too short" in answer.content.decode()
    assert not get_user_model().objects.exists()
    assert client.get(link).status_code == 200


@pytest.mark.parametrize(
    ("sent", "given", "zone"),
    [
        ("Europe/Paris", False, "Europe/Paris"),
        ("Europe/Paris", True, "UTC"),
        ("Mars/Olympus", False, "UTC"),
        ("", False, "UTC"),
    ],
)
def test_the_browsers_time_zone_becomes_the_admins_unless_the_operator_gave_one(
    client: Client, link: str, settings: Settings, sent: str, given: bool, zone: str
) -> None:
    settings.GIVEN = frozenset({"TIME_ZONE"} if given else ())
    client.post(link, {**GOOD, "time_zone": sent})
    assert get_user_model().objects.exists()
    assert str(admin_zone()) == zone
    feed = FeedFactory(floods_sent_at=NOW)
    page = client.get(object_url(feed)).content.decode().replace("\N{NO-BREAK SPACE}", " ")
    assert ("13:00 CET" in page) == (zone == "Europe/Paris")
    assert ("12:00 UTC" in page) == (zone == "UTC")
