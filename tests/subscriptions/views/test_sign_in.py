"""Requesting and using a sign-in link: neutral, by POST, and apart from the admin's session."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.test import Client

from common.clock import utcnow
from subscriptions.models import Destination, Notice, SignIn, SignInRequest
from subscriptions.subscribers.sign_in import mail_links
from tests.factories import DestinationFactory, SubscriptionFactory, SuppressionFactory

pytestmark = pytest.mark.django_db

ADA = "ada@example.org"


@pytest.fixture
def reader() -> Destination:
    found: Destination = SubscriptionFactory(destination__core=ADA).destination
    return found


@pytest.fixture
def strict() -> Client:
    """Return a client with CSRF checks, as in production."""
    return Client(enforce_csrf_checks=True)


def ask(client: Client, email: str = ADA, **more: Any) -> Any:
    return client.post("/sign-in/", {"email": email, "website": ""}, **more)


def link(client: Client) -> str:
    """Return the path of a link that was just mailed."""
    ask(client)
    mail_links(now=utcnow())
    url: str = Notice.objects.latest("pk").context["sign_in_url"]
    return "/" + url.split("/", 3)[3]


def signed_in(client: Client) -> Client:
    assert client.post(link(client)).status_code == 302
    return client


def test_known_unknown_and_suppressed_addresses_get_the_same_page(
    client: Client, reader: Destination
) -> None:
    SuppressionFactory(core=DestinationFactory(core="bob@example.org").core)
    pages = {name: ask(client, f"{name}@example.org") for name in ("ada", "bob", "eve", "ada")} | {
        "again": ask(client)
    }
    assert {page.status_code for page in pages.values()} == {200}
    bodies = {page.content.replace(name.encode(), b"x") for name, page in pages.items() if name != "again"}
    assert len(bodies) == 1
    assert pages["again"].content == pages["ada"].content
    headers = [{**page.headers, "Content-Length": ""} for page in pages.values()]
    assert all(one == headers[0] for one in headers)
    mail_links(now=utcnow())
    assert Notice.objects.count() == 1


def test_asking_needs_no_cookie_and_sets_none(strict: Client, reader: Destination) -> None:
    assert ask(strict).status_code == 200
    assert not strict.cookies
    assert SignInRequest.objects.exists()


def test_what_is_no_address_is_said_at_the_field(client: Client) -> None:
    answer = ask(client, "nonsense")
    assert answer.status_code == 400
    assert "nonsense" in answer.content.decode()
    assert 'aria-invalid="true"' in answer.content.decode()


def test_who_fills_in_the_hidden_field_gets_the_page_and_no_mail(client: Client, reader: Destination) -> None:
    answer = client.post("/sign-in/", {"email": ADA, "website": "x"})
    assert answer.status_code == 200
    assert not SignInRequest.objects.exists()


@pytest.mark.parametrize("email", [ADA, "eve@example.org"])
def test_too_many_from_one_connection_are_told_so_whatever_the_address(
    client: Client, reader: Destination, email: str, settings: Any
) -> None:
    settings.SIGN_UP_LIMITS = "ip=1/hour"
    ask(client, "first@example.org")
    answer = ask(client, email)
    assert answer.status_code == 429
    assert "Please try again in an hour" in answer.content.decode()
    assert SignInRequest.objects.get().core == "first@example.org"


def test_too_many_for_one_address_are_not_told(client: Client, reader: Destination, settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "address=1/day"
    first, second = ask(client), ask(client)
    assert (first.status_code, first.content) == (second.status_code, second.content)


def test_looking_at_a_link_changes_nothing(client: Client, reader: Destination) -> None:
    there = link(client)
    for _ in range(2):
        for answer in (client.get(there), client.head(there)):
            assert answer.status_code == 200
            assert not answer.cookies
    assert SignIn.objects.get().used_at is None
    assert not Session.objects.exists()
    assert "Sign in" in client.get(there).content.decode()


def test_a_tap_signs_in_for_that_address_alone(strict: Client, reader: Destination) -> None:
    other = SubscriptionFactory(subscribable__title="Theirs", subscribable__visibility="unlisted")
    answer = strict.post(link(strict))
    assert (answer.status_code, answer["Location"]) == (302, "/mine/")
    page = strict.get("/mine/").content.decode()
    assert ADA in page
    assert "Theirs" not in page
    assert other.destination.core not in page


def test_the_cookie_is_for_these_pages_only_and_ends_after_twelve_hours(
    client: Client, reader: Destination, settings: Any
) -> None:
    settings.SESSION_COOKIE_SECURE = True
    cookie = client.post(link(client)).cookies["reader"]
    assert (cookie["path"], cookie["max-age"], cookie["samesite"]) == ("/mine/", 12 * 3600, "Lax")
    assert cookie["httponly"]
    assert cookie["secure"]
    kept = Session.objects.get()
    seconds = (kept.expire_date - SignIn.objects.get().asked_at).total_seconds()
    assert seconds == pytest.approx(12 * 3600, abs=60)


def test_a_link_works_once_and_says_so(client: Client, reader: Destination) -> None:
    there = link(client)
    client.post(there)
    for answer in (client.get(there), Client().post(there)):
        assert answer.status_code == 400
        assert "already been used" in answer.content.decode()
        assert not answer.cookies


def test_a_wrong_link_is_not_logged_and_leads_to_a_fresh_one(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for answer in (client.get("/sign-in/wrong-token/"), client.post("/sign-in/wrong-token/")):
        assert answer.status_code == 400
        assert 'href="/sign-in/"' in answer.content.decode()
    assert "wrong-token" not in caplog.text


def test_another_site_cannot_sign_somebody_in_unawares(client: Client, reader: Destination) -> None:
    there = link(client)
    answer = client.post(there, headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert not answer.cookies
    assert client.post(there, headers={"sec-fetch-site": "same-origin"}).status_code == 302


def test_link_pages_keep_their_address_to_themselves(client: Client, reader: Destination) -> None:
    for there in (link(client), "/sign-in/wrong/"):
        for answer in (client.get(there), client.head(there), client.post(there)):
            assert answer["Referrer-Policy"] == "no-referrer"
            assert answer["Cache-Control"] == "no-store"
            assert "noindex" in answer["X-Robots-Tag"]
            assert "default-src 'none'" in answer["Content-Security-Policy"]


def test_the_admin_keeps_their_session_and_gains_nothing(client: Client, reader: Destination) -> None:
    admin = get_user_model().objects.create_superuser("admin")
    client.force_login(admin)
    before = client.cookies["sessionid"].value
    signed_in(client)
    assert client.cookies["sessionid"].value == before
    assert client.get("/admin/").status_code == 200
    assert dict(client.session)["_auth_user_id"] == str(admin.pk)
    assert "reader" not in client.session
    page = client.get("/mine/")
    client.post("/mine/sign-out/", {"csrfmiddlewaretoken": page.cookies["csrftoken"].value})
    assert client.get("/admin/").status_code == 200
    assert client.get("/mine/").status_code == 302


def test_a_readers_session_is_none_of_the_admin_and_the_other_way_round(
    client: Client, reader: Destination
) -> None:
    key = signed_in(client).cookies["reader"].value
    client.cookies["sessionid"] = key
    assert "/admin/login/" in client.get("/admin/")["Location"]
    admin = Client()
    admin.force_login(get_user_model().objects.create_superuser("admin"))
    admin.cookies["reader"] = admin.cookies["sessionid"].value
    assert admin.get("/mine/").status_code == 302
    admin.post("/mine/sign-out/")
    assert admin.get("/admin/").status_code == 200


def test_signing_out_makes_a_copied_cookie_useless(reader: Destination, client: Client) -> None:
    key = signed_in(client).cookies["reader"].value
    answer = client.post("/mine/sign-out/")
    assert answer["Location"] == "/sign-in/"
    assert answer.cookies["reader"]["max-age"] == 0
    thief = Client()
    thief.cookies["reader"] = key
    assert thief.get("/mine/")["Location"] == "/sign-in/?ended"


def test_a_session_that_ended_is_said_kindly(client: Client) -> None:
    assert client.get("/mine/")["Location"] == "/sign-in/"
    assert "signed out" in client.get("/sign-in/?ended").content.decode()


def test_the_form_is_one_field_and_one_button(client: Client) -> None:
    page = client.get("/sign-in/").content.decode()
    assert len(re.findall("<button", page)) == 1
    assert 'type="email"' in page
    assert not client.cookies
