"""OPML import in the admin: a preview, then part by part; and export."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from feeds.adding.add import add_feed
from feeds.adding.opml import FEEDS_A_STEP
from feeds.models import Feed
from feeds.parsing.opml import parse_opml
from tests.factories import NOW

pytestmark = pytest.mark.django_db
FILE = reverse("admin:feeds_feed_import_opml")
LOOK = reverse("admin:feeds_feed_opml_look")
RUN = reverse("admin:feeds_feed_opml_run")


def opml(count: int, *more: str) -> bytes:
    rows = [
        f'<outline text="Blog {n}" xmlUrl="https://{n}.test/feed" category="many"/>' for n in range(count)
    ]
    return f"<opml><body>{''.join([*rows, *more])}</body></opml>".encode()


def upload(client: Client, body: bytes, **data: Any) -> Any:
    return client.post(FILE, {"file": SimpleUploadedFile("feeds.opml", body), **data}, follow=True)


def text(answer: Any) -> str:
    return str(answer.content.decode())


def test_the_list_of_feeds_leads_there(admin_client: Client) -> None:
    page = text(admin_client.get(reverse("admin:feeds_feed_changelist")))
    assert FILE in page
    assert reverse("admin:feeds_feed_export_opml") in page


def test_a_look_says_what_would_be_done_and_does_nothing(admin_client: Client) -> None:
    add_feed(url="https://0.test/feed", now=NOW)
    page = upload(
        admin_client,
        opml(
            3,
            '<outline text="Again" xmlUrl="https://1.test/feed"/>',
            '<outline text="&lt;b&gt;" xmlUrl="ftp://x"/>',
        ),
        tags="mine",
    )
    shown = text(page)
    assert page.redirect_chain == [(LOOK, 302)]
    assert "Add 2 feeds" in shown
    assert "1, of which 1 get tags they had not" in shown
    assert "Blog 1" in shown
    assert "many, mine" in shown
    assert "begins with http:// or https://" in shown
    assert "<b>" not in shown
    assert Feed.objects.count() == 1


def test_each_step_adds_a_part_until_all_are_there(admin_client: Client) -> None:
    upload(admin_client, opml(FEEDS_A_STEP + 5))
    assert f"0 of {FEEDS_A_STEP + 5}" in text(admin_client.get(RUN))
    page = text(admin_client.post(RUN, follow=True))
    assert f"{FEEDS_A_STEP} of {FEEDS_A_STEP + 5}" in page
    assert "Continue" in page
    assert Feed.objects.count() == FEEDS_A_STEP
    page = text(admin_client.post(RUN, follow=True))
    assert Feed.objects.count() == FEEDS_A_STEP + 5
    assert f"<dd>{FEEDS_A_STEP + 5}</dd>" in page
    assert "Continue" not in page


def test_the_script_is_told_how_far_it_is(admin_client: Client) -> None:
    upload(admin_client, opml(FEEDS_A_STEP + 5))
    asked = {"Accept": "application/json"}
    assert admin_client.post(RUN, headers=asked).json() == {
        "done": FEEDS_A_STEP,
        "total": FEEDS_A_STEP + 5,
        "is_over": False,
    }
    assert admin_client.post(RUN, headers=asked).json()["is_over"]
    assert admin_client.post(RUN, headers=asked).json()["is_over"], "once more does no harm"
    assert Feed.objects.count() == FEEDS_A_STEP + 5


def test_the_end_is_told_again_and_a_look_back_leads_to_it(admin_client: Client) -> None:
    upload(admin_client, opml(2))
    admin_client.post(RUN)
    for _ in range(2):
        assert "<dd>2</dd>" in text(admin_client.get(RUN))
    assert admin_client.get(LOOK, follow=True).redirect_chain == [(RUN, 302)]


def test_a_file_of_feeds_that_are_there_offers_nothing_to_do(admin_client: Client) -> None:
    add_feed(url="https://0.test/feed", now=NOW, tags=["many"])
    page = text(upload(admin_client, opml(1)))
    assert "you watch all of these feeds already" in page
    assert 'class="fl-button">Add' not in page


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"hello", "not an OPML file"), (b"", "The file is empty"), (b"x" * 5_000_001, "larger than 5 MB")],
)
def test_what_is_no_list_of_feeds_is_refused_at_the_field(
    admin_client: Client, body: bytes, said: str
) -> None:
    assert said in text(upload(admin_client, body))


def test_no_file_and_wrong_tags_are_refused_at_the_field(admin_client: Client) -> None:
    assert "Choose the file." in text(admin_client.post(FILE, {"tags": ""}))
    assert "1 to 100 characters" in text(upload(admin_client, opml(1), tags="x" * 101))


def test_without_a_file_at_hand_the_way_leads_back(admin_client: Client, settings: Any) -> None:
    for page in (LOOK, RUN):
        assert "Choose it again" in text(admin_client.get(page, follow=True))
    assert "Choose it again" in text(admin_client.post(RUN, follow=True))
    upload(admin_client, opml(1))
    session = admin_client.session
    session["opml"] = session["opml"][:-4] + "AAAA"
    session.save()
    assert "Choose it again" in text(admin_client.post(RUN, follow=True))
    assert not Feed.objects.exists()


def test_passwords_of_the_file_are_nowhere_to_be_read(admin_client: Client) -> None:
    body = opml(0, '<outline text="https://ada:geheim@a.test/" xmlUrl="https://ada:geheim@a.test/"/>')
    page = text(upload(admin_client, body))
    stored = admin_client.session["opml"]
    assert "geheim" not in page + stored + text(admin_client.get(RUN))
    admin_client.post(RUN)
    pages = [RUN, reverse("admin:feeds_feed_changelist"), reverse("admin:feeds_feed_export_opml")]
    assert all("geheim" not in text(admin_client.get(page)) for page in pages)
    assert Feed.objects.get().credentials.open() == {"user": "ada", "password": "geheim"}


def test_the_export_is_a_file_of_all_feeds(admin_client: Client) -> None:
    add_feed(url="https://a.test/?a&b", now=NOW, tags=["news", "Ünïcode"], title="<A>")
    answer = admin_client.get(reverse("admin:feeds_feed_export_opml"))
    assert answer["Content-Type"] == "text/x-opml; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="feedletter-')
    (found,) = parse_opml(answer.content).outlines
    assert (found.url, found.title, found.tags) == ("https://a.test/?a&b", "<A>", ("news", "Ünïcode"))


def test_who_may_not_add_feeds_may_not_import_them(client: Client) -> None:
    user = User.objects.create_user("eve", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_feed"))
    client.force_login(user)
    for page in (FILE, LOOK, RUN):
        assert client.get(page).status_code == 403
        assert client.post(page).status_code == 403
    assert client.get(reverse("admin:feeds_feed_export_opml")).status_code == 200
    assert FILE not in text(client.get(reverse("admin:feeds_feed_changelist")))
