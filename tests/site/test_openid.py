"""Sign-in by an OpenID Connect provider: only users that exist, by a verified address, then by `sub`."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from common.clock import utcnow
from reader.people.readers import add_reader
from tests.feeds.conftest import server
from tests.servers.feed_server import FeedServer
from tests.servers.oidc_provider import CLIENT, SECRET, OidcProvider, back_from

__all__ = ["server"]

pytestmark = pytest.mark.django_db
ADA = {"sub": "7", "email": "Ada@Example.org", "email_verified": True, "groups": ["writers"]}
BACK = "http://testserver/account/oidc/back/"


@pytest.fixture
def provider(server: FeedServer, settings: Any, monkeypatch: pytest.MonkeyPatch) -> OidcProvider:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    made = OidcProvider(server, BACK, dict(ADA))
    settings.OIDC_URL, settings.OIDC_NAME = made.issuer, "Lighthouse"
    app = {"provider_id": "oidc", "name": "Lighthouse", "client_id": CLIENT, "secret": SECRET}
    apps = [{**app, "settings": {"server_url": made.issuer}}]
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": apps}}
    return made


@pytest.fixture
def ada() -> User:
    return User.objects.create_superuser("ada", "ada@example.org", "right-horse-1")


def sign_in(provider: OidcProvider, **given: str) -> tuple[Client, Any]:
    client = Client()
    asked = client.post("/account/oidc/", given)
    return client, client.get(back_from(provider.sign_in(asked["Location"])))


def confirmed(client: Client) -> Any:
    """Type the password again, and begin to connect an identity."""
    asked = client.post("/account/oidc/?process=connect")
    assert asked["Location"].startswith("/account/confirm/?next=")
    client.post(asked["Location"], {"password": "right-horse-1"})
    return client.post("/account/oidc/?process=connect")


def who(client: Client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def test_a_verified_address_signs_its_user_in_and_the_identity_is_known_from_then_on(
    provider: OidcProvider, ada: User
) -> None:
    assert "Sign in with Lighthouse" in Client().get("/account/sign-in/").content.decode()
    client, answer = sign_in(provider, next="/admin/settings/")
    assert (answer["Location"], who(client), provider.challenged) == ("/admin/settings/", "ada", True)
    assert SocialAccount.objects.get().extra_data == {}
    ada.refresh_from_db()
    assert ada.check_password("right-horse-1")
    provider.person |= {"email": "other@example.org", "email_verified": False}
    assert who(sign_in(provider)[0]) == "ada"


def test_a_second_factor_is_asked_for_here_too(provider: OidcProvider, ada: User) -> None:
    Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={"secret": "x"})
    client, answer = sign_in(provider)
    assert (answer["Location"], who(client)) == ("/account/second-factor/authenticate/", "")


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email_verified": None},
        {"email_verified": "false"},
        {"email": "eve@example.org"},
        {"email": ""},
        {"email": "twins@example.org"},
        {"email": "left@example.org"},
    ],
)
def test_nobody_else_gets_in_and_no_user_is_made(
    provider: OidcProvider, ada: User, claims: dict[str, Any]
) -> None:
    for name in ("castor", "pollux"):
        User.objects.create_user(name, "twins@example.org")
    User.objects.create_user("left", "left@example.org", is_active=False)
    provider.person |= claims
    client, answer = sign_in(provider)
    assert (answer.status_code, who(client)) == (403, "")
    assert "You have no account here" in answer.content.decode()
    assert (User.objects.count(), SocialAccount.objects.count()) == (4, 0)


def test_only_people_of_the_group_get_in(provider: OidcProvider, ada: User, settings: Any) -> None:
    settings.OIDC_GROUP = "writers"
    assert who(sign_in(provider)[0]) == "ada"
    for groups in ([], ["readers"], "writers", None):
        provider.person["groups"] = groups
        client, answer = sign_in(provider)
        assert (answer.status_code, who(client)) == (403, "")


def test_an_answer_works_once_and_only_in_the_browser_that_asked(provider: OidcProvider, ada: User) -> None:
    client = Client()
    back = back_from(provider.sign_in(client.post("/account/oidc/")["Location"]))
    stranger = Client()
    assert (stranger.get(back).status_code, who(stranger)) == (401, "")
    client.get(back)
    assert who(client) == "ada"
    client.logout()
    assert (client.get(back).status_code, who(client)) == (401, "")


def test_the_address_of_a_reader_proves_nothing(provider: OidcProvider) -> None:
    User.objects.create_user("eve", "ada@example.org")
    client, answer = sign_in(provider)
    assert (answer.status_code, who(client)) == (403, "")


@pytest.mark.needs("reader")
def test_a_reader_who_is_signed_in_connects_and_disconnects_an_identity(provider: OidcProvider) -> None:
    reader = add_reader(name="eve", password=make_password("right-horse-1"), now=utcnow())
    client = Client()
    client.post("/account/sign-in/", {"login": "eve", "password": "right-horse-1"})
    assert "?process=connect" in client.get("/reader/account/").content.decode()
    asked = confirmed(client)
    answer = client.get(back_from(provider.sign_in(asked["Location"])), follow=True)
    assert answer.redirect_chain[-1][0] == "/reader/account/"
    assert "Connected. You can now sign in with it." in answer.content.decode()
    assert SocialAccount.objects.get().user == reader.user
    assert who(sign_in(provider)[0]) == "eve"
    client.post("/reader/account/", {"act": "disconnect"})
    assert sign_in(provider)[1].status_code == 403


@pytest.mark.needs("reader")
def test_an_identity_of_somebody_else_is_not_taken_over(provider: OidcProvider, ada: User) -> None:
    assert who(sign_in(provider)[0]) == "ada"
    add_reader(name="eve", password=make_password("right-horse-1"), now=utcnow())
    client = Client()
    client.post("/account/sign-in/", {"login": "eve", "password": "right-horse-1"})
    asked = confirmed(client)
    answer = client.get(back_from(provider.sign_in(asked["Location"])), follow=True)
    assert "already belongs to another account" in answer.content.decode()
    assert (SocialAccount.objects.get().user, who(client)) == (ada, "eve")


def test_a_session_alone_connects_no_identity(provider: OidcProvider, ada: User, settings: Any) -> None:
    client = Client()
    client.force_login(ada)
    back = back_from(provider.sign_in(confirmed(client)["Location"]))
    settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = -1
    assert client.get(back)["Location"] == "/account/confirm/"
    assert not SocialAccount.objects.exists()


def test_identities_are_shown_and_disconnected_by_their_owner_an_admin_and_a_command(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    ways = (
        lambda: client.post("/account/oidc/remove/", {"uid": "evil-7"}),
        lambda: call_command("remove_second_factor", "ada", "--identities"),
    )
    for remove in ways:
        row = SocialAccount.objects.create(user=ada, provider="oidc", uid="evil-7")
        for page in ("/account/second-factor/", f"/admin/auth/user/{ada.pk}/change/"):
            assert "evil-7" in client.get(page).content.decode(), page
        others = SocialAccount.objects.create(user=User.objects.create_user(f"eve{row.pk}"), uid="8")
        remove()
        assert list(SocialAccount.objects.filter(user__is_staff=True)) == []
        others.delete()


def test_nobody_connects_an_identity_without_being_signed_in(provider: OidcProvider, ada: User) -> None:
    client = Client()
    asked = client.post("/account/oidc/?process=connect")
    answer = client.get(back_from(provider.sign_in(asked["Location"])))
    assert (answer.status_code, who(client), SocialAccount.objects.exists()) == (403, "", False)


@pytest.mark.parametrize("body", ["not json", "[]", "{}", '{"authorization_endpoint": 7}'])
def test_a_provider_that_fails_is_one_page(provider: OidcProvider, server: FeedServer, body: str) -> None:
    server.serve("/oidc/.well-known/openid-configuration", body)
    answer = Client().post("/account/oidc/")
    assert answer.status_code in {401, 502}
    assert "The sign-in didn’t work" in answer.content.decode()


def test_a_private_network_must_be_allowed(provider: OidcProvider, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    assert Client().post("/account/oidc/").status_code == 502


def test_so_many_are_begun_from_one_network(provider: OidcProvider) -> None:
    statuses = [Client().post("/account/oidc/").status_code for _ in range(21)]
    assert statuses == [302] * 20 + [429]


def test_without_a_provider_there_is_no_such_way(ada: User) -> None:
    assert Client().post("/account/oidc/").status_code == 404
    assert "/account/oidc/" not in Client().get("/account/sign-in/").content.decode()
