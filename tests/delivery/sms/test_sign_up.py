"""Signing up with a phone number, from the form to the page after the code."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from common.clock import utcnow
from delivery.models import Delivery
from subscriptions.models import Consent, Destination, SignUpCode, Subscribable, Subscription
from subscriptions.subscribers.notices import CODE_GOOD_FOR, MOST_TRIES, code_of
from subscriptions.subscribers.suppression import suppress
from tests.delivery.sms.texting import NUMBER, TYPED, a_newsletter, a_reader, bodies, code_in, go_out
from tests.servers.services.twilio import LANDLINE, Twilio

pytestmark = pytest.mark.django_db(transaction=True)


def sign_up(client: Client, newsletter: Subscribable, phone: str = TYPED, **more: str) -> Any:
    """Return the URL of the page for the code."""
    answer = client.post(f"/s/{newsletter.name}/", {"phone": phone, **more})
    assert answer.status_code == 303, answer.content.decode()
    return answer["Location"]


def test_a_reader_types_the_code_and_is_subscribed(
    client: Client, newsletter: Subscribable, twilio: Twilio
) -> None:
    there = sign_up(client, newsletter)
    page = client.get(there).content.decode()
    assert "+49 1512 3456789" in page
    assert NUMBER not in there
    assert Subscription.objects.get().status == "unconfirmed"
    go_out()
    [said] = bodies(twilio)
    assert str(newsletter) in said
    assert twilio.messages[0]["form"]["ValidityPeriod"] == "600"
    done: Any = client.post(there, {"code": f" {code_in(said)[:3]} {code_in(said)[3:]} "}, follow=True)
    assert [status for _, status in done.redirect_chain] == [303]
    assert "You’re subscribed" in done.content.decode()
    assert "/manage/" in done.content.decode()
    assert Subscription.objects.get().status == "confirmed"
    assert list(Consent.objects.values_list("act", flat=True)) == ["asked", "confirmed"]
    assert not SignUpCode.objects.exists()
    # It is valid once.
    assert "not the code" in client.post(there, {"code": code_in(said)}, follow=True).content.decode()


def test_the_code_stands_nowhere(client: Client, newsletter: Subscribable, twilio: Twilio) -> None:
    there = sign_up(client, newsletter)
    go_out()
    code = code_in(bodies(twilio)[0])
    rows = [SignUpCode.objects.values(), Delivery.objects.values()]
    assert not any(code in str(list(each)) for each in rows)
    assert code not in there


def test_a_wrong_code_confirms_nothing_and_five_are_enough(
    client: Client, newsletter: Subscribable, twilio: Twilio
) -> None:
    there = sign_up(client, newsletter)
    first = there
    go_out()
    code = code_in(bodies(twilio)[0])
    wrong = f"{(int(code) + 1) % 10**6:06}"
    for left in range(MOST_TRIES - 1, -1, -1):
        answer = client.post(there, {"code": wrong})
        assert answer.status_code == 303
        there = answer["Location"]
        page = client.get(there).content.decode()
        assert ("Please check the message again" in page) == bool(left)
    assert "Get a new code" in page
    # Not even with the right code, nor from the first page, which counts no tries.
    for each in (there, first):
        client.post(each, {"code": code})
    assert Subscription.objects.get().status == "unconfirmed"


def test_after_ten_minutes_it_is_no_use(
    client: Client, newsletter: Subscribable, twilio: Twilio, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = sign_up(client, newsletter)
    go_out()
    later = utcnow() + CODE_GOOD_FOR
    monkeypatch.setattr("subscriptions.views.pages.utcnow", lambda: later)
    page = client.post(there, {"code": code_in(bodies(twilio)[0])}, follow=True).content.decode()
    assert "This code has expired" in page
    assert Subscription.objects.get().status == "unconfirmed"


def test_a_code_that_could_not_go_in_time_does_not_go(
    client: Client, newsletter: Subscribable, twilio: Twilio
) -> None:
    sign_up(client, newsletter)
    go_out(utcnow() + CODE_GOOD_FOR + timedelta(seconds=1))
    assert bodies(twilio) == []
    assert Delivery.objects.get().state == "failed"
    assert "too late" in Delivery.objects.get().last_error


@pytest.mark.django_db
@pytest.mark.parametrize("stands", ["unknown", "confirmed", "suppressed", "disabled"])
def test_nobody_learns_of_a_number_by_signing_it_up(
    client: Client, newsletter: Subscribable, twilio: Twilio, stands: str
) -> None:
    if stands == "suppressed":
        suppress(kind="sms", core=NUMBER, reason="STOP", now=utcnow())
    elif stands != "unknown":
        known = a_reader(newsletter)
        disabled = utcnow() if stands == "disabled" else None
        Destination.objects.filter(pk=known.destination_id).update(disabled_at=disabled)
    there = sign_up(client, newsletter)
    shown = client.get(there).content.decode()
    wrong = client.post(there, {"code": "000000"}, follow=True).content.decode()
    assert "six-digit code" in shown
    assert "not the code" in wrong
    go_out()
    assert len(bodies(twilio)) == (stands in ("unknown", "confirmed"))


def test_whoever_has_it_already_comes_to_their_page(
    client: Client, newsletter: Subscribable, twilio: Twilio
) -> None:
    a_reader(newsletter)
    there = sign_up(client, newsletter)
    go_out()
    done = client.post(there, {"code": code_in(bodies(twilio)[0])}, follow=True).content.decode()
    assert "/manage/" in done


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("phone", "said"),
    [
        ("", "Please type your mobile number"),
        ("hello", "look like a phone number"),
        ("0151", "This phone number doesn’t exist"),
        (LANDLINE, "can’t receive text messages"),
        ("+33 6 12 34 56 78", "from this country"),
        ("1" * 41, "most 40 characters"),
    ],
)
def test_what_is_no_mobile_number_here_is_said_at_the_field(
    client: Client, newsletter: Subscribable, phone: str, said: str
) -> None:
    answer = client.post(f"/s/{newsletter.name}/", {"phone": phone})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not Destination.objects.filter(kind="sms").exists()


@pytest.mark.django_db
def test_other_countries_may_be_let_in(client: Client, newsletter: Subscribable, twilio: Twilio) -> None:
    wide = a_newsletter(options={"countries": "*"})
    sign_up(client, wide, "+33 6 12 34 56 78")
    assert Destination.objects.get(kind="sms").core == "+33612345678"


@pytest.mark.django_db
def test_without_a_country_the_number_needs_its_code(client: Client, twilio: Twilio) -> None:
    anywhere = a_newsletter(options={"region": ""})
    answer = client.post(f"/s/{anywhere.name}/", {"phone": TYPED})
    assert "start with a plus sign" in answer.content.decode()


def test_a_second_form_within_five_minutes_costs_no_message_and_its_page_takes_the_first_code(
    client: Client, newsletter: Subscribable, twilio: Twilio
) -> None:
    sign_up(client, newsletter)
    again = sign_up(client, newsletter)
    go_out()
    [said] = bodies(twilio)
    client.post(again, {"code": code_in(said)})
    assert Subscription.objects.get().status == "confirmed"


def test_numbers_of_one_row_and_of_one_reader_are_limited(newsletter: Subscribable, twilio: Twilio) -> None:
    reader = Client(REMOTE_ADDR="203.0.113.7")
    for number in range(8):
        sign_up(reader, newsletter, f"0151 2345678{number}")
    go_out()
    assert len(bodies(twilio)) == 4  # limit of one reader in an hour
    for number in range(20):
        sign_up(Client(REMOTE_ADDR=f"198.51.100.{number}"), newsletter, f"0151 234560{number:02}")
    go_out()
    assert len(bodies(twilio)) == 10  # limit of one range of numbers in an hour


@pytest.mark.django_db
def test_a_robot_is_shown_the_page_and_costs_nothing(
    client: Client, newsletter: Subscribable, twilio: Twilio
) -> None:
    sign_up(client, newsletter, website="https://spam.example")
    go_out()
    assert bodies(twilio) == []
    assert not Destination.objects.filter(kind="sms").exists()


@pytest.mark.django_db
def test_a_page_that_nobody_was_sent_to_leads_to_the_newsletters(client: Client) -> None:
    for path in ("/code/", "/code/?told=abc", "/code/?told="):
        assert client.get(path)["Location"] == "/"


def test_the_code_comes_in_the_readers_language_and_a_long_title_leaves_it_one_message(
    client: Client, twilio: Twilio, newsletter: Subscribable
) -> None:
    long = a_newsletter(title="Bienenzüchterverein Überlingen " * 6)
    client.post(f"/s/{long.name}/", {"phone": TYPED}, headers={"Accept-Language": "de"})
    go_out()
    [said] = bodies(twilio)
    assert "10 Minuten" in said
    assert len(said) <= 160


@pytest.mark.django_db
def test_codes_are_six_digits_of_a_key_that_is_ours() -> None:
    codes = {code_of(str(number)) for number in range(500)}
    assert all(len(code) == 6 and code.isdecimal() for code in codes)
    assert len(codes) > 490


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["embed/", "subscribe/"])
def test_forms_elsewhere_lead_to_its_own_page(client: Client, newsletter: Subscribable, path: str) -> None:
    answer = client.post(f"/s/{newsletter.name}/{path}", {"email": "ada@example.org"})
    place = answer.get("Location", "") or answer.content.decode()
    assert f"/s/{newsletter.name}/" in place
    assert not Subscription.objects.exists()


@pytest.mark.django_db
def test_the_list_of_newsletters_shows_it_and_asks_no_address_for_it(
    client: Client, newsletter: Subscribable
) -> None:
    shown = client.get("/").content.decode()
    assert f"/s/{newsletter.name}/" in shown
    answer = client.post("/", {"newsletter": newsletter.name, "email": "ada@example.org"})
    assert answer.status_code == 400


@pytest.mark.django_db
def test_programs_are_told_where_readers_sign_up(client: Client, newsletter: Subscribable) -> None:
    place = f"/api/v1/subscribables/{newsletter.name}/subscribe/"
    answer = client.post(place, {"email": "ada@example.org"}, content_type="application/json")
    assert answer.status_code == 403, answer.content
