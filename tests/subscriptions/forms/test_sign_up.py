"""The sign-up form: who must answer a question."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from common.clock import utcnow
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Consent, Notice
from subscriptions.rules.sign_up import solve
from subscriptions.subscribers import antispam
from subscriptions.subscribers.antispam import shown_stamp
from tests.factories import SubscribableFactory
from tests.subscriptions import questions

pytestmark = pytest.mark.django_db


def form(*, challenge: bool = False, **data: str) -> SignUpForm:
    letter = SubscribableFactory(name="weekly", title="Example Weekly", challenge=challenge)
    return SignUpForm({"email": "ada@example.org", **data}, subscribables=[letter])


def shown(seconds: float) -> str:
    return shown_stamp(now=utcnow() - timedelta(seconds=seconds))


def answer_to(asked: SignUpForm) -> dict[str, str]:
    return {"question": asked.fresh_question, "reply": questions.answer_to(asked.question_words)}


@pytest.fixture(autouse=True)
def as_slow_as_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let questions be answered at once."""
    monkeypatch.setattr(antispam, "QUESTION_READ", timedelta(0))


def test_a_person_is_asked_nothing() -> None:
    assert form(shown=shown(5)).is_valid()


def test_a_form_of_another_site_cannot_say_when_it_was_shown() -> None:
    assert form().is_valid()


@pytest.mark.parametrize("seconds", [0, 3 * 86400, None])
def test_who_is_too_quick_too_late_or_makes_up_the_time_is_asked_a_question(seconds: int | None) -> None:
    asked = form(shown="made up" if seconds is None else shown(seconds))
    assert not asked.is_valid()
    assert (asked.asks, list(asked.errors)) == (True, ["reply"])


def test_the_right_answer_is_taken_a_wrong_one_is_asked_again() -> None:
    asked = form(shown=shown(0))
    assert not asked.is_valid()
    wrong = {**answer_to(asked), "reply": "99"}
    again = SignUpForm({"email": "ada@example.org", **wrong}, subscribables=asked.subscribables)
    assert not again.is_valid()
    assert again.errors["reply"] == ["That’s not the right answer. Here’s another question."]
    right = {"email": "ada@example.org", "shown": shown(0), **answer_to(again)}
    assert SignUpForm(right, subscribables=asked.subscribables).is_valid()
    assert not SignUpForm(right, subscribables=asked.subscribables).is_valid()


def test_a_newsletter_that_holds_off_robots_takes_a_solution_once(client: Client) -> None:
    challenge = client.get("/challenge/").json()["challenge"]
    solved = form(challenge=True, solution=f"{challenge}:{solve(challenge)}")
    assert solved.is_valid()
    again = SignUpForm(solved.data, subscribables=solved.subscribables)
    assert not again.is_valid()
    assert again.asks


def test_without_a_solution_there_is_a_question_instead() -> None:
    asked = form(challenge=True)
    assert not asked.is_valid()
    answered = {"email": "ada@example.org", **answer_to(asked)}
    assert SignUpForm(answered, subscribables=asked.subscribables).is_valid()


def test_a_slip_in_the_address_spends_no_solution(client: Client) -> None:
    challenge = client.get("/challenge/").json()["challenge"]
    solution = f"{challenge}:{solve(challenge)}"
    slip = form(challenge=True, email="ada", solution=solution)
    assert not slip.is_valid()
    assert not slip.asks
    assert SignUpForm(
        {"email": "ada@example.org", "solution": solution}, subscribables=slip.subscribables
    ).is_valid()


def test_the_hidden_field_makes_a_robot_who_is_asked_nothing() -> None:
    robot = form(website="http://spam.example", shown=shown(0), challenge=True)
    assert robot.is_valid()
    assert robot.is_robot


def test_the_challenge_is_for_any_site_and_kept_by_no_cache(client: Client) -> None:
    answer = client.get("/challenge/")
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "no-store" in answer["Cache-Control"]
    assert not answer.cookies
    assert answer.json() != client.get("/challenge/").json()
    assert client.post("/challenge/").status_code == 405


def test_the_page_asks_its_question_and_takes_the_answer(client: Client) -> None:
    letter = SubscribableFactory(name="weekly", title="Example Weekly", challenge=True)
    page = client.get("/s/weekly/").content.decode()
    assert 'data-challenge="/challenge/"' in page
    answer = client.post("/s/weekly/", {"email": "ada@example.org", "name": "Ada"})
    assert answer.status_code == 400
    said = answer.content.decode()
    assert "Please answer one question, so that we know you’re a person." in said
    assert 'value="ada@example.org"' in said
    assert not Notice.objects.exists()
    reply = answer_to(answer.context["form"])
    done = client.post("/s/weekly/", {"email": "ada@example.org", "name": "Ada", **reply})
    assert done.status_code == 303
    assert Notice.objects.get().subscription.subscribable == letter  # type: ignore[union-attr]


def test_what_the_reader_agrees_to_is_what_the_page_says(client: Client) -> None:
    SubscribableFactory(name="weekly", title="Example Weekly")
    page = client.get("/s/weekly/").content.decode()
    client.post("/s/weekly/", {"email": "ada@example.org"})
    words = Consent.objects.get().words
    assert words == (
        "Subscribe to Example Weekly. We’ll email you a link to confirm."
        " You can unsubscribe at any time with one click."
    )
    for sentence in words.split(". "):
        assert sentence.rstrip(".") in page


def test_the_script_of_the_sum_is_our_own_and_allowed(client: Client) -> None:
    SubscribableFactory(name="weekly", challenge=True)
    SubscribableFactory(name="plain")
    policy = client.get("/s/weekly/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy
    assert "script-src" not in client.get("/s/plain/")["Content-Security-Policy"]


@pytest.mark.slow
def test_hostile_values_are_no_500(client: Client) -> None:
    SubscribableFactory(name="weekly", challenge=True)
    for field in ("email", "name", "website", "shown", "solution", "question", "reply"):
        for value in ("\x00", "x" * 20_000, "<script>", "a:b", "{}", "\ud7ff"):
            data: dict[str, Any] = {"email": "ada@example.org", field: value}
            assert client.post("/s/weekly/", data).status_code in (200, 303, 400)
