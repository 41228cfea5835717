"""A superuser invites colleagues by email, who get a role and nothing else."""

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from common.refused import Refused
from delivery.letters.build import opened_context
from delivery.models import Delivery
from feedletter_site.models import Member
from feedletter_site.team.people import INVITED_FOR_DAYS, InvitationOver, accept, invite, send_again, withdraw
from reader.people.readers import add_reader
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db
# Rows are locked.
SECOND_DATABASE = True
PASSWORD = "a-long-pass-17"
INVITE = "/admin/auth/user/invite/"


@pytest.fixture(autouse=True)
def _mails(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"


def an_invitation(email: str = "bo@example.org", role: str = "editor", **more: Any) -> User:
    return invite(email=email, role=role, now=utcnow(), **{"newsletters": None, **more})


def newest_link() -> str:
    mail = Delivery.objects.filter(template="team_invitation").latest("pk")
    return str(opened_context(mail.context)["invitation_url"])


def newest_key() -> str:
    return newest_link().rstrip("/").rpartition("/")[2]


def recent(client: Client) -> Client:
    """Confirm the password of the tests' admin, as is needed before a POST."""
    client.post(reverse("account_reauthenticate"), {"password": "password"})
    return client


def test_the_invited_chooses_a_password_and_is_signed_in(admin_client: Client, client: Client) -> None:
    newsletter = SubscribableFactory(title="Harbour")
    other = SubscribableFactory(title="Mountain")
    given = {"email": "Bo@example.org", "role": "editor", "is_limited": "on", "newsletters": [newsletter.pk]}
    # The form is kept while the password is asked for.
    answer = admin_client.post(INVITE, given, follow=True)
    answer = admin_client.post(answer.redirect_chain[0][0], {"password": "password"}, follow=True)
    assert "bo@example.org is invited" in answer.content.decode()
    page = client.get(newest_link()).content.decode()
    assert "bo@example.org" in page
    assert client.post(newest_link(), {"password": PASSWORD})["Location"] == "/admin/"
    user = User.objects.get(email="bo@example.org")
    assert (user.is_staff, user.is_superuser, user.is_active) == (True, False, True)
    assert client.session["_auth_user_id"] == str(user.pk)
    shown = client.get(reverse("admin:subscriptions_subscribable_changelist")).content.decode()
    assert str(newsletter) in shown
    assert str(other) not in shown


def test_a_link_works_once(client: Client) -> None:
    an_invitation()
    client.post(newest_link(), {"password": PASSWORD})
    answer = Client().post(newest_link(), {"password": "another-long-18"})
    assert answer.status_code == 404
    assert "already used" in answer.content.decode()
    assert User.objects.get().check_password(PASSWORD)


def test_a_link_expires() -> None:
    an_invitation()
    with pytest.raises(InvitationOver, match="expired"):
        accept(
            key=newest_key(), password=PASSWORD, now=utcnow() + timedelta(days=INVITED_FOR_DAYS, seconds=1)
        )
    assert not User.objects.get().is_active


def test_sending_again_makes_the_old_link_void(client: Client) -> None:
    user = an_invitation()
    old = newest_link()
    send_again(users=[user.pk], now=utcnow())
    assert client.get(old).status_code == 404
    assert client.get(newest_link()).status_code == 200


def test_a_withdrawn_invitation_lets_nobody_in_and_its_address_can_be_invited_again(client: Client) -> None:
    user = an_invitation()
    link = newest_link()
    withdraw(users=[user.pk])
    assert client.post(link, {"password": PASSWORD}).status_code == 404
    assert not User.objects.exists()
    an_invitation()


def test_who_has_joined_can_be_neither_withdrawn_nor_sent_a_link() -> None:
    user = an_invitation()
    accept(key=newest_key(), password=PASSWORD, now=utcnow())
    assert "0 invitations" in withdraw(users=[user.pk])
    assert "0 invitations" in send_again(users=[user.pk], now=utcnow())
    assert User.objects.get().is_active
    assert Delivery.objects.filter(template="team_invitation").count() == 1


def test_before_joining_nobody_signs_in_and_no_new_password_is_sent(client: Client) -> None:
    an_invitation(role="everything")
    answer = client.post(reverse("account_login"), {"login": "bo@example.org", "password": ""})
    assert "_auth_user_id" not in client.session
    assert answer.status_code == 200


def test_a_reader_who_typed_the_address_holds_up_no_invitation() -> None:
    reader = add_reader(name="bo", email="bo@example.org", now=utcnow())
    assert an_invitation() != reader.user


@pytest.mark.parametrize(
    "taken", [{"email": "Bo@Example.org", "is_staff": True}, {"username": "BO@example.org"}]
)
def test_an_address_of_a_user_is_refused_and_their_role_stays(taken: dict[str, Any]) -> None:
    user = User.objects.create_user(**{"username": "bo", **taken}, password=PASSWORD)
    with pytest.raises(Refused, match="is a user already"):
        an_invitation(role="everything")
    user.refresh_from_db()
    assert (user.is_superuser, user.is_staff) == (False, "is_staff" in taken)
    assert not Member.objects.exists()


def test_without_mail_nobody_is_invited(settings: Any) -> None:
    settings.EMAIL_URL = ""
    with pytest.raises(Refused, match="can’t send email"):
        an_invitation()
    assert not User.objects.exists()


def test_everything_for_some_newsletters_is_refused() -> None:
    with pytest.raises(Refused, match="Only editors and senders"):
        an_invitation(role="everything", newsletters=[SubscribableFactory()])
    assert not User.objects.exists()


def test_only_a_superuser_invites(client: Client) -> None:
    an_invitation(role="sender")
    client.post(newest_link(), {"password": PASSWORD})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    answer = client.post(INVITE, {"email": "eve@example.org", "role": "everything"})
    assert answer.status_code == 403
    assert User.objects.count() == 1


def together(*acts: Callable[[], object]) -> list[str]:
    """Do all at the same moment, in a thread each; return the refusals."""
    start, refused = Barrier(len(acts), timeout=10), list[str]()

    def run(act: Callable[[], object]) -> None:
        start.wait()
        try:
            act()
        except Refused as error:
            refused.append(str(error))
        finally:
            connection.close()

    threads = [Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_link_at_once_one_gets_in() -> None:
    an_invitation()
    key = newest_key()
    (refused,) = together(
        *(lambda password=each: accept(key=key, password=password, now=utcnow()) for each in ("one", "two"))
    )
    assert "already used" in refused


@pytest.mark.django_db(transaction=True)
def test_an_address_that_two_invite_at_once_is_invited_once() -> None:
    (refused,) = together(an_invitation, an_invitation)
    assert "just invited" in refused or "user already" in refused
    assert Member.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_link_that_is_used_while_it_is_withdrawn_either_works_or_not() -> None:
    user = an_invitation()
    key = newest_key()
    refused = together(
        lambda: withdraw(users=[user.pk]), lambda: accept(key=key, password=PASSWORD, now=utcnow())
    )
    assert User.objects.filter(is_active=True).count() == 1 - len(refused)
    assert User.objects.count() == 1 - len(refused)


def test_an_invitation_ends_when_its_address_is_changed(admin_client: Client, client: Client) -> None:
    user = an_invitation()
    where = reverse("admin:auth_user_change", args=[user.pk])
    recent(admin_client).post(where, {"username": "bo", "email": "bob@example.org", "role": "editor"})
    user.refresh_from_db()
    assert user.email == "bob@example.org"
    assert client.get(newest_link()).status_code == 404


def test_buttons_send_an_invitation_again_and_withdraw_it(admin_client: Client) -> None:
    user = an_invitation()
    given = {"_selected_action": user.pk, "_on_page": user.pk}
    page = admin_client.get(reverse("admin:auth_user_change", args=[user.pk])).content.decode()
    assert "Send again" in page
    old, where = newest_link(), reverse("admin:auth_user_changelist")
    admin_client.post(where, {**given, "action": "send_again"})
    assert newest_link() != old
    admin_client.post(where, {**given, "action": "withdraw"})
    assert not User.objects.filter(pk=user.pk).exists()


def test_an_address_that_is_no_name_is_refused(admin_client: Client) -> None:
    answer = recent(admin_client).post(INVITE, {"email": "o'neil@example.org", "role": "editor"})
    assert "Use an address of letters" in answer.content.decode()
    assert User.objects.count() == 1


def test_who_invited_is_in_the_history(admin_client: Client, admin_user: User) -> None:
    recent(admin_client).post(INVITE, {"email": "bo@example.org", "role": "editor"})
    user = User.objects.get(email="bo@example.org")
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id) == (admin_user, str(user.pk))
