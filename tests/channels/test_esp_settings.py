"""EMAIL_URL of a mail service."""

import pytest
from anymail.utils import get_anymail_setting
from django.core.exceptions import ImproperlyConfigured

from channels.email.account_url import parse_email_url
from channels.email.esp.services import SERVICES
from channels.email.esp.session import backend
from channels.email.esp.settings import EspSettings, expected

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
