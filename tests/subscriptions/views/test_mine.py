"""The pages of a signed-in reader: all data of one address."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from common.formats.dates import day_words
from common.ports import personal_data
from subscriptions.models import Consent, Destination, FrequencyChange, Notice, Subscription
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from tests.examples import some_now
from tests.factories import (
    NOW,
    AttemptFactory,
    BounceFactory,
    DeliveryFactory,
    DestinationFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db

ADA = "ada@example.org"
PAGES = ("/mine/", "/mine/address/", "/mine/data/", "/mine/data.json", "/mine/leave/", "/mine/erase/")


@pytest.fixture
def reader() -> Destination:
    found: Destination = DestinationFactory(core=ADA)
    return found


@pytest.fixture
def ada(reader: Destination) -> Client:
    """Return a signed-in client with CSRF checks, as in production."""
    client = Client(enforce_csrf_checks=True)
    ask_for_link(email=ADA, ip="", now=timezone.now())
    mail_links(now=timezone.now())
    client.post("/" + Notice.objects.latest("pk").context["sign_in_url"].split("/", 3)[3])
    return client


def text(client: Client, there: str) -> str:
    answer = client.get(there)
    assert answer.status_code == 200
    return answer.content.decode()


def post(client: Client, there: str) -> Any:
    token = client.get("/mine/").cookies["csrftoken"].value
    return client.post(there, {"csrfmiddlewaretoken": token})


def test_every_newsletter_stands_there_with_its_standing_and_its_own_page(
    ada: Client, reader: Destination
) -> None:
    weekly = SubscriptionFactory(
        destination=reader, subscribable__title="Weekly", subscribable__arrangement="weekly"
    )
    UnconfirmedFactory(destination=reader, subscribable__title="Waiting")
    LeftFactory(destination=reader, subscribable__title="Gone")
    later = timezone.now() + timedelta(days=30)
    SubscriptionFactory(destination=reader, subscribable__title="Resting", paused_until=later)
    page = text(ada, "/mine/")
    for said in (
        "Weekly",
        "Every Monday",
        "Since March\xa01,\xa02026",
        "Waiting",
        "Not confirmed yet",
        "Gone",
    ):
        assert said in page
    assert f"Paused until {day_words(later)}" in page
    own = page[page.index("/manage/") :].split("/")[2]
    assert Client().get(f"/manage/{own}/").status_code == 200
    assert str(weekly.pk) in page


def test_what_somebody_changed_from_is_neither_received_nor_left(ada: Client, reader: Destination) -> None:
    old = LeftFactory(destination=reader, subscribable__title="Every post")
    new = SubscriptionFactory(destination=reader, subscribable__title="Once a week")
    FrequencyChange.objects.create(old=old, new=new, rarer=new.subscribable, at=NOW, settled_at=old.left_at)
    page = text(ada, "/mine/")
    assert "Once a week" in page
    assert "Every post" not in page


def test_the_pages_speak_the_language_of_the_newest_subscription(ada: Client, reader: Destination) -> None:
    assert '<html lang="en"' in text(ada, "/mine/")
    SubscriptionFactory(destination=reader, language="de")
    assert '<html lang="de"' in text(ada, "/mine/")


def test_who_gets_nothing_is_shown_the_newsletters_there_are(ada: Client) -> None:
    page = text(ada, "/mine/")
    assert "No newsletter is sent to this address" in page
    assert "/mine/leave/" not in page


def test_a_private_newsletter_shows_to_who_gets_it(ada: Client, reader: Destination) -> None:
    SubscriptionFactory(destination=reader, subscribable__title="Hidden", subscribable__visibility="private")
    assert "Hidden" in text(ada, "/mine/")


@pytest.mark.parametrize("there", some_now(PAGES))
def test_looking_changes_nothing(ada: Client, reader: Destination, there: str) -> None:
    SubscriptionFactory(destination=reader)
    before = list(Subscription.objects.values()), list(Destination.objects.values("core", "erased_at"))
    for _ in range(2):
        assert ada.get(there).status_code == 200
        assert ada.head(there).status_code == 200
    assert (
        list(Subscription.objects.values()),
        list(Destination.objects.values("core", "erased_at")),
    ) == before


@pytest.mark.parametrize("there", ["/mine/leave/", "/mine/erase/", "/mine/sign-out/"])
def test_acting_takes_a_token_of_this_site(ada: Client, reader: Destination, there: str) -> None:
    SubscriptionFactory(destination=reader)
    answer = ada.post(there)
    assert answer.status_code == 403
    assert "Please try again" in answer.content.decode()
    assert Subscription.objects.get().status == "confirmed"


@pytest.mark.parametrize("there", PAGES)
def test_nobody_else_sees_any_of_it_and_nothing_is_kept_on_the_way(ada: Client, there: str) -> None:
    assert Client().get(there)["Location"] == "/sign-in/"
    for answer in (ada.get(there), Client().get(there)):
        assert answer["Cache-Control"] == "no-store"
        assert "noindex" in answer["X-Robots-Tag"]
        assert answer["Referrer-Policy"] == "same-origin"
    assert "default-src 'none'" in ada.get(there)["Content-Security-Policy"]


def test_leaving_everything_leaves_everything_of_this_address(ada: Client, reader: Destination) -> None:
    mine = [SubscriptionFactory(destination=reader), UnconfirmedFactory(destination=reader)]
    gone, theirs = LeftFactory(destination=reader), SubscriptionFactory()
    page = text(ada, "/mine/leave/")
    assert "Unsubscribe from 2 newsletters" in page
    assert str(gone.subscribable) not in page
    answer = post(ada, "/mine/leave/")
    assert "You’ve unsubscribed from all newsletters" in text(ada, answer["Location"])
    left = set(Subscription.objects.filter(status="unsubscribed"))
    assert left == {*mine, gone}
    theirs.refresh_from_db()
    assert theirs.status == "confirmed"
    gone.refresh_from_db()
    assert gone.left_at == NOW - timedelta(hours=1)
    assert "You have no subscriptions" in text(ada, "/mine/leave/")


def test_the_data_page_says_all_in_words(ada: Client, reader: Destination) -> None:
    one = SubscriptionFactory(
        destination=reader,
        display_name="Ada L",
        language="en",
        subscribable__title="",
        subscribable__name="weekly",
    )
    Consent.objects.create(subscription=one, act="asked", words="I want it", ip="192.0.2.7")
    row = DeliveryFactory(subscription=one, state="failed", issue__title="The <b>first</b>")
    AttemptFactory(delivery=row, text="450 Come back later")
    BounceFactory(delivery=row, diagnostic="550 Nobody here")
    SuppressionFactory(core=ADA, reason="Marked as spam by the subscriber.")
    page = text(ada, "/mine/data/")
    for said in (
        ADA, "Ada L", "weekly", "confirmed", "asked for it", "I want it", "192.0.2.7",
        "The &lt;b&gt;first&lt;/b&gt;", "did not arrive", "450 Come back later", "550 Nobody here",
        "Marked as spam", "March\xa01,\xa02026, 12:00, UTC",
    ):  # fmt: skip
        assert said in page, said


def test_the_data_page_is_bounded_and_the_file_has_the_rest(ada: Client, reader: Destination) -> None:
    DeliveryFactory.create_batch(60, subscription=SubscriptionFactory(destination=reader), state="sent")
    page = text(ada, "/mine/data/")
    assert page.count("<li><dl>") < 60
    assert "And 10 more" in page


def test_the_file_has_everything_of_this_address_and_nothing_of_others(
    ada: Client, reader: Destination
) -> None:
    one = SubscriptionFactory(destination=reader, display_name="Ada L")
    Consent.objects.create(subscription=one, act="asked", words="I want it", ip="192.0.2.7")
    DeliveryFactory(subscription=one, state="sent", sent_at=NOW, issue__title="The first")
    DeliveryFactory(state="sent", issue__title="Theirs")
    answer = ada.get("/mine/data.json")
    assert answer["Content-Type"] == "application/json"
    assert 'filename="my-data.json"' in answer["Content-Disposition"]
    data = json.loads(b"".join(answer))
    assert data["address"] == ADA
    assert data["subscriptions"][0]["name"] == "Ada L"
    assert data["consents"][0]["ip"] == "192.0.2.7"
    (mail,) = data["mails"]
    assert (mail["title"], mail["state"], mail["sent_at"]) == ("The first", "sent", "2026-03-02T12:00:00Z")
    assert data["bounces"] == []


def test_the_file_says_how_much_was_left_out(
    ada: Client, reader: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(personal_data, "MOST_ROWS", 3)
    DeliveryFactory.create_batch(5, subscription=SubscriptionFactory(destination=reader))
    data = json.loads(b"".join(ada.get("/mine/data.json")))
    assert (len(data["mails"]), data["mails_left_out"]) == (3, 2)
    assert "subscriptions_left_out" not in data


def test_the_erase_page_says_what_goes_and_what_stays(ada: Client, reader: Destination) -> None:
    SubscriptionFactory.create_batch(2, destination=reader)
    page = text(ada, "/mine/erase/")
    assert "2 subscriptions" in page
    assert "“Do not email” list" not in page
    SuppressionFactory(core=ADA)
    assert "“Do not email” list" in text(ada, "/mine/erase/")


def test_erasing_erases_and_signs_out(ada: Client, reader: Destination) -> None:
    SubscriptionFactory(destination=reader)
    key = ada.cookies["reader"].value
    answer = post(ada, "/mine/erase/")
    assert answer.status_code == 200
    assert "Your data is deleted" in answer.content.decode()
    assert not Subscription.objects.exists()
    assert not Destination.objects.filter(core=ADA).exists()
    assert ada.get("/mine/").status_code == 302
    copied = Client()
    copied.cookies["reader"] = key
    assert copied.get("/mine/").status_code == 302


def test_another_browser_of_the_same_person_is_signed_out_by_erasing(
    ada: Client, reader: Destination
) -> None:
    ask_for_link(email=ADA, ip="", now=timezone.now())
    mail_links(now=timezone.now() + timedelta(minutes=6))
    phone = Client()
    phone.post("/" + Notice.objects.latest("pk").context["sign_in_url"].split("/", 3)[3])
    assert phone.get("/mine/").status_code == 200
    post(ada, "/mine/erase/")
    assert phone.get("/mine/").status_code == 302


def test_the_address_is_changed_by_two_links_and_taken_back(ada: Client, reader: Destination) -> None:
    row = SubscriptionFactory(destination=reader, subscribable__title="Weekly")
    token = ada.get("/mine/").cookies["csrftoken"].value
    answer = ada.post("/mine/address/", {"email": "Ada@New.example", "csrfmiddlewaretoken": token})
    # The page's URL does not reveal the reader.
    assert answer.status_code == 302
    assert "new.example" not in answer["Location"].lower()
    assert "Ada@New.example" in text(ada, answer["Location"])

    new, stranger = Notice.objects.latest("pk").context["change_url"].split("/", 3)[3], Client()
    page = text(stranger, f"/{new}")
    assert "Weekly" in page
    assert "a…@example.org" in page
    assert ADA not in page
    assert stranger.post(f"/{new}").status_code == 302
    assert "We now send" in text(stranger, f"/{new}")
    row.refresh_from_db()
    assert row.destination.label == "Ada@new.example"
    # Neither link signs anybody in, and a session of the old address sees nothing of the new one.
    assert stranger.get("/mine/").status_code == 302
    assert "/manage/" not in text(ada, "/mine/")

    old = Notice.objects.latest("pk").context["undo_url"].split("/", 3)[3]
    text(stranger, f"/{old}")
    assert stranger.post(f"/{old}").status_code == 302
    assert ADA in text(stranger, f"/{old}")
    row.refresh_from_db()
    assert row.destination == reader
    assert ada.get("/mine/")["Location"] == "/sign-in/?ended"
    assert stranger.get(f"/{new}").status_code == 400


def test_a_wrong_new_address_is_said_at_its_field(ada: Client) -> None:
    token = ada.get("/mine/").cookies["csrftoken"].value
    for email in ("nonsense", ADA):
        answer = ada.post("/mine/address/", {"email": email, "csrfmiddlewaretoken": token})
        assert answer.status_code == 400
        assert 'id="id_email_error"' in answer.content.decode()


def test_a_newsletter_is_added_without_another_mail(ada: Client, reader: Destination) -> None:
    SubscriptionFactory(destination=reader, subscribable__title="Weekly")
    more = SubscribableFactory(title="Monthly")
    hidden, closed = SubscribableFactory(visibility="private"), SubscribableFactory(sign_up="closed")
    page = text(ada, "/mine/")
    assert "Get Monthly, too" in page
    assert page.count("Get ") == 1
    token = ada.get("/mine/").cookies["csrftoken"].value
    for name in (more.name, more.name, hidden.name, closed.name, "nope"):
        data = {"newsletter": name, "csrfmiddlewaretoken": token}
        assert ada.post("/mine/", data).status_code == 303
    made = more.subscriptions.get()
    assert (made.destination, made.status) == (reader, "confirmed")
    assert made.consents.get().words.startswith("Get Monthly, too.")
    assert not hidden.subscriptions.exists()
    assert not closed.subscriptions.exists()
    assert "Done. You now get Monthly." in text(ada, f"/mine/?added={more.name}")


def test_nothing_is_added_where_nothing_may_be_sent(ada: Client, reader: Destination) -> None:
    more = SubscribableFactory()
    SuppressionFactory(core=ADA)
    token = ada.get("/mine/").cookies["csrftoken"].value
    ada.post("/mine/", {"newsletter": more.name, "csrfmiddlewaretoken": token})
    assert not more.subscriptions.exists()
