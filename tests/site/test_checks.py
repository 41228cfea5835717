from ipaddress import ip_network
from pathlib import Path

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from common.checks import OWN_CHECKS
from common.cli.commands import FeedletterCommand
from feedletter_site.checks import settings_fit_together

GOOD = {
    "EMBEDDED": True,
    "EMAIL_URL": "smtp://mail.example.org",
    "SITE_HOST": "letters.example.org",
    "SITE_URL": "https://letters.example.org",
    "TRUSTED_PROXIES": [ip_network("127.0.0.1")],
    "ALLOW_PRIVATE_NETWORKS": [ip_network("192.168.0.0/24")],
    "SECRET_KEY": "x" * 50,
}


@pytest.fixture(autouse=True)
def _good(settings: Settings) -> None:
    for name, value in GOOD.items():
        setattr(settings, name, value)


def test_commands_and_workers_show_them(settings: Settings) -> None:
    settings.EMAIL_URL, settings.SECRET_KEY, settings.HOOK_MODULES = "", "short", ("nonesuch",)
    said = {message.id for message in run_checks(tags=[OWN_CHECKS])}
    assert said >= {"feedletter.W004", "feedletter.W005", "delivery.W001"}
    assert FeedletterCommand.requires_system_checks == (OWN_CHECKS,)


def ids() -> list[str]:
    return [str(message.id) for message in settings_fit_together(None)]


def test_good_settings_pass() -> None:
    assert ids() == []


def test_many_workers_on_sqlite_are_warned_of(settings: Settings) -> None:
    settings.EMBEDDED = False
    engine = settings.DATABASES["default"]["ENGINE"]
    assert ids() == (["feedletter.W001"] if "sqlite" in engine else [])


def test_links_that_lead_to_this_machine_are_warned_of_once_letters_leave_it(settings: Settings) -> None:
    settings.SITE_HOST = "127.0.0.1"
    assert ids() == ["feedletter.W003"]
    settings.EMAIL_URL = "mailbox:"
    assert ids() == []


def test_a_short_secret_is_warned_of(settings: Settings) -> None:
    settings.SECRET_KEY = "short"
    assert ids() == ["feedletter.W004"]


def test_a_site_behind_https_without_a_declared_proxy_is_warned_of(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = []
    assert ids() == ["feedletter.W007"]
    settings.SITE_URL = "http://letters.example.org"
    assert ids() == []


@pytest.mark.parametrize("network", ["127.0.0.0/8", "127.0.0.1/32", "::1/128", "0.0.0.0/0"])
@pytest.mark.parametrize("host", ["letters.example.org", "198.51.100.7"])
def test_a_public_site_that_may_call_its_own_machine_is_warned_of(
    settings: Settings, network: str, host: str
) -> None:
    settings.ALLOW_PRIVATE_NETWORKS, settings.SITE_HOST = [ip_network(network)], host
    assert ids() == ["feedletter.W008"]


@pytest.mark.parametrize("host", ["192.168.1.5", "raspberry"])
def test_a_private_site_may_call_its_own_machine(settings: Settings, host: str) -> None:
    settings.ALLOW_PRIVATE_NETWORKS, settings.SITE_HOST = [ip_network("127.0.0.0/8")], host
    assert ids() == []


def test_a_provider_without_a_client_is_warned_of(settings: Settings) -> None:
    settings.OIDC_URL, settings.OIDC_CLIENT_ID = "https://id.example.org", ""
    assert ids() == ["feedletter.W009"]


def test_a_folder_for_backups_that_cannot_be_made_is_warned_of(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for folder, expected in (
        ("new/folder", []),
        ("file/folder", ["W010"]),
        ("file", ["W010"]),
        ("link", ["W010"]),
    ):
        settings.BACKUP_DIR = str(tmp_path / folder)
        assert [each.removeprefix("feedletter.") for each in ids()] == expected, folder
    assert not (tmp_path / "new").exists()
