"""The subject of a refusal in a mail service's words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Permanent, Temporary
from channels.email.esp.outcomes import ServiceRefused, items_of, judged, of_error, words_of_answer
from tests.channels.email_letters import NOW

RECIPIENT = [
    "Invalid 'To' address: 'x@y'.",
    "Error parsing 'To': Illegal email domain 'x' in address 'a@x'.",
    "to parameter is not a valid address. please check documentation",
    "The recipient address is invalid.",
    '"x@y" is an invalid email address.',
]
US = [
    "Invalid 'From' address: 'x@y'.",
    "The From address does not match a verified Sender Identity.",
    "Sender signature not found",
    "Error parsing 'Reply-To': Illegal email domain in address 'x'.",
    "Domain mg.example.org is not verified",
    "You have exceeded your daily sending quota",
    "Your account is suspended",
    "Not enough credits",
]
ANSWERS: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["message", "errors", "x"]), inner)
    ),
)


@pytest.mark.parametrize("words", RECIPIENT)
def test_a_refusal_of_the_recipient_is_final(words: str) -> None:
    assert judged("said", words) == Permanent("said")


@pytest.mark.parametrize("words", US)
def test_a_refusal_of_us_stops_the_lane_and_fails_nobody(words: str) -> None:
    assert judged("said", words) == Temporary("said", stops_lane=True)
    assert isinstance(of_error(400, words, {}, "Acme", NOW), Temporary)


@pytest.mark.parametrize("words", ["", "Bad Request", "Something went wrong", "Invalid JSON"])
def test_other_words_defer_that_letter_alone(words: str) -> None:
    assert judged("said", words) == Temporary("said")
    assert isinstance(of_error(422, words, {}, "Acme", NOW), ServiceRefused)


@pytest.mark.parametrize("status", [301, 307, 401, 402, 403, 404, 405, 408, 410, 429, 500, 502, 503, 599])
def test_what_is_about_the_account_or_the_service_stops_the_lane(status: int) -> None:
    outcome = of_error(status, "The recipient address is invalid.", {"Retry-After": "nonsense"}, "Acme", NOW)
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert outcome.text.startswith(f"Acme answered {status}: ")


def test_a_letter_that_is_too_large_is_refused_for_good() -> None:
    assert of_error(413, "", {}, "Acme", NOW) == ServiceRefused(Permanent("Acme answered 413."))


@given(ANSWERS, st.integers(1, 4))
def test_words_are_one_line_and_bounded_whatever_the_answer(answer: Any, count: int) -> None:
    words = words_of_answer(answer)
    assert len(words) <= 300
    assert words == " ".join(words.split())
    assert len(items_of(answer, count)) in (0, count)
