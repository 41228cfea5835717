"""An invitation is for one person, once: a stranger with a password, or a user with a name."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from common.clock import utcnow
from reader.models import Invitation, Reader
from reader.people.invitations import InvitationOver, accept, invite, revoke_invitations
from tests.factories import NOW

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-pass-17"
GOOD = {"name": "eve", "email": "eve@example.org", "password1": PASSWORD}


def invited(**given: Any) -> tuple[Invitation, str]:
    """Return an invitation of today, and the path of its link."""
    invitation, link = invite(**{"name": "Eve Smith", "now": utcnow(), **given})
    return invitation, link.removeprefix("http://127.0.0.1:8000")


def test_a_stranger_chooses_name_and_password_and_is_in() -> None:
    invitation, path = invited(max_feeds=7)
    client = Client()
    shown = client.get(path)
    assert 'value="eve-smith"' in shown.content.decode()
    assert (shown["Referrer-Policy"], "no-store" in shown["Cache-Control"]) == ("same-origin", True)
    assert client.post(path, GOOD)["Location"] == "/reader/"
    page = client.get("/reader/").content.decode()
    assert "You don’t follow any feeds yet" in page
    assert "Put it into channels" in page
    reader = Reader.objects.get()
    assert (reader.slug, reader.max_feeds, reader.user.email) == ("eve", 7, "eve@example.org")
    assert reader.user.check_password(PASSWORD)
    assert not reader.user.is_staff
    invitation.refresh_from_db()
    assert invitation.reader == reader


def test_it_lets_in_one_person_only() -> None:
    _, path = invited()
    Client().post(path, GOOD)
    again = Client().post(path, {**GOOD, "name": "mallory"})
    assert (again.status_code, "already used" in again.content.decode()) == (410, True)
    assert Client().get(path).status_code == 410
    assert Reader.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "No Good"}, "slug"),
        ({"name": "ada"}, "taken"),
        ({"name": "BOSS"}, "taken"),
        ({"password1": "12345"}, "too short"),
        ({"name": "evelyn-smith", "password1": "evelyn-smith"}, "too similar"),
        ({"email": "nowhere"}, "valid email"),
        ({"name": "-eve-"}, "lower-case letters"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_the_link_stays_good(
    ada: Reader, changed: dict[str, str], said: str
) -> None:
    User.objects.create_user("Boss")
    _, path = invited()
    answer = Client().post(path, {**GOOD, **changed})
    assert (answer.status_code, said in answer.content.decode()) == (400, True)
    assert Reader.objects.count() == 1
    assert Client().get(path).status_code == 200


def test_a_user_of_the_site_chooses_a_name_only() -> None:
    _, path = invited()
    client = Client()
    client.force_login(User.objects.create_user("Boss", is_staff=True))
    form = client.get(path).content.decode()
    assert 'value="boss"' in form
    assert "password1" not in form
    assert client.post(path, {"name": "boss"})["Location"] == "/reader/"
    assert Reader.objects.get().user.username == "Boss"


def test_whoever_reads_here_uses_up_nobodys_invitation(ada: Reader, web: Any) -> None:
    invitation, path = invited()
    for answer in (web(ada).get(path), web(ada).post(path, GOOD)):
        assert "You already have an account" in answer.content.decode()
    invitation.refresh_from_db()
    assert invitation.used_at is None
    assert Reader.objects.count() == 1
    assert "The invitation is still valid" in answer.content.decode()


def test_a_used_invitation_is_not_called_good(web: Any) -> None:
    _, path = invited()
    newcomer = Client()
    newcomer.post(path, GOOD)
    page = newcomer.get(path).content.decode()
    assert "You already have an account" in page
    assert "is still valid" not in page


def test_nothing_that_is_kept_opens_it() -> None:
    invitation, path = invited()
    key = path.rstrip("/").rpartition("/")[2]
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM reader_invitation")
        assert key not in str(cursor.fetchall())
    assert Client().get(f"/reader/invitation/{invitation.digest}/").status_code == 410


def test_it_ends_by_itself_and_when_it_is_taken_back() -> None:
    invitation, path = invited(days=2)
    assert invitation.expires_at == invitation.made_at + timedelta(days=2)
    Invitation.objects.update(expires_at=utcnow())
    assert "has expired" in Client().post(path, GOOD).content.decode()
    invitation, path = invited()
    assert revoke_invitations(invitations=[invitation.pk], now=NOW) == 1
    assert revoke_invitations(invitations=[invitation.pk], now=NOW) == 0
    assert "revoked" in Client().post(path, GOOD).content.decode()
    assert not Reader.objects.exists()


@pytest.mark.parametrize(("setting", "status"), [("staff", 410), ("open", 302)])
def test_the_setting_is_heeded(settings: Any, setting: str, status: int) -> None:
    _, path = invited()
    settings.READER = setting
    assert Client().post(path, GOOD).status_code == status


def test_a_service_refuses_by_itself(settings: Any) -> None:
    key = invited()[1].rstrip("/").rpartition("/")[2]
    accept(key=key, name="eve", now=utcnow())
    with pytest.raises(InvitationOver):
        accept(key=key, name="mallory", now=utcnow())
    settings.READER = "staff"
    with pytest.raises(ValueError, match="READER=staff"):
        invite(name="eve", now=NOW)
