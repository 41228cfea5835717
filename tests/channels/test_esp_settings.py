"""EMAIL_URL of a mail service.

The subject of a refusal in a mail service's words.
"""

from typing import Any

import pytest
from anymail.utils import get_anymail_setting
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Permanent, Temporary
from channels.email.account_url import parse_email_url
from channels.email.esp.outcomes import ServiceRefused, items_of, judged, of_error, words_of_answer
from channels.email.esp.services import SERVICES
from channels.email.esp.session import backend
from channels.email.esp.settings import EspSettings, expected
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
COMPLETE = {
    "ses": "region=eu-west-1",
    "postal": "api_url=https://post.example.org",
    "scaleway": "project=p-1",
}
COMPLETE["unisender-go"] = "api_url=https://go1.unisender.ru/en/transactional/api/v1"
WRONG = [
    "anymail+mailgum://s3cret@h", "anymail+://s3cret@h", "anymail+mailgun://s3cret", "anymail+mailgun://",
    "anymail+mailgun://h?region=eu", "anymail+mailgun://s3cret@h?region=mars", "anymail+mailgun://s3cret@h/x",
    "anymail+mailgun://s3cret@h#x", "anymail+mailgun://s3cret@h:80", "anymail+mailgun://s3cret@h:s3cret",
    "anymail+mailgun://a:s3cret@h", "anymail+mailjet://s3cret@h", "anymail+ses://s3cret@h",
    "anymail+ses://a:s3cret@h", "anymail+postal://s3cret@h", "anymail+postmark://s3cret@h?s3cret=1",
    "anymail+postmark://s3cret@h?api_url=http://h.example", "anymail+postmark://s3cret@h?api_url=s3cret",
    "anymail+postmark://s3cret@h?api_url=https://u:s3cret@h", "anymail+postmark://s3 cret@h",
    "anymail+postmark://s3cret\n@h", "anymail+test://s3cret@h", "anymail+postmark://s3cret?x@h",
    "anymail+postmark://s3cret@[h",
]  # fmt: skip


def complete(esp: str) -> str:
    secret = ":s3cret" if SERVICES[esp].secret else ""
    return f"anymail+{esp}://k3y{secret}@mg.example.org?{COMPLETE.get(esp, '')}"


def test_the_key_the_domain_and_the_region_are_read() -> None:
    target = parse_email_url("ANYMAIL+Mailgun://k%2F3y@MG.example.org?region=eu")
    assert target == EspSettings("mailgun", "k/3y", "mg.example.org", {"region": "eu"})
    made = backend(target, seconds=7)
    assert (made.api_key, made.sender_domain, made.timeout) == ("k/3y", "mg.example.org", 7)
    assert made.api_url == "https://api.eu.mailgun.net/v3/"


def test_the_domain_may_be_missing() -> None:
    assert parse_email_url("anymail+postmark://k3y@") == EspSettings("postmark", "k3y")


@pytest.mark.parametrize("name", ["amazon-ses", "amazon_ses", "ses"])
def test_a_service_may_have_another_name(name: str) -> None:
    target = parse_email_url(f"anymail+{name}://AKIA:s3cret@example.org?region=eu-west-1")
    assert isinstance(target, EspSettings)
    assert (target.esp, target.name, target.secret) == ("ses", "Amazon SES", "s3cret")


@pytest.mark.filterwarnings("ignore:django-anymail has dropped")
@pytest.mark.parametrize("esp", sorted(set(SERVICES) - {"ses"}))
def test_every_service_gets_its_settings_from_the_url_alone(esp: str) -> None:
    target = parse_email_url(complete(esp))
    assert isinstance(target, EspSettings)
    made = backend(target, seconds=1)
    assert getattr(made, SERVICES[esp].key) == "k3y"
    assert made.esp_name == SERVICES[esp].name
    assert made.api_url.startswith("https://")
    made.close()


def test_every_service_that_anymail_knows_is_offered() -> None:
    import anymail.backends

    folder = anymail.backends.__path__[0]
    from pathlib import Path

    helpers = {"__init__", "base", "base_requests", "console", "test", "sendinblue"}
    known = {path.stem for path in Path(folder).glob("*.py")} - helpers
    assert {service.backend for service in SERVICES.values()} == known


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_url_is_refused_by_name_and_without_its_secrets(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        parse_email_url(url, name="The URL of the mail account x")
    said = str(caught.value)
    assert said.startswith("The URL of the mail account x ")
    assert "s3cret" not in said
    assert caught.value.__cause__ is None


def test_an_unknown_service_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        ImproperlyConfigured, match=r"Supported: brevo, mailersend, mailgun, .*, unisender-go"
    ):
        parse_email_url("anymail+acme://k@h")


@pytest.mark.parametrize("esp", sorted(SERVICES))
def test_neither_key_nor_options_are_shown(esp: str) -> None:
    target = parse_email_url(f"{complete(esp)}&webhook_key=h00k")
    assert isinstance(target, EspSettings)
    assert not any(secret in repr(target) for secret in ("k3y", "s3cret", "h00k"))
    assert target.without_secrets("k3y, s3cret, h00k").count("…") >= 2
    assert expected(esp).startswith(f"anymail+{esp}://KEY")


def test_nothing_is_taken_from_settings_of_the_whole_site() -> None:
    assert get_anymail_setting("api_key", esp_name="Mailgun", default="none") == "none"


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
