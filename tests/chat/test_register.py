"""`discord_register`: its checks, its requests to Discord, and that a repetition changes nothing."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from common.checks import OWN_CHECKS
from delivery.models import ServiceAccount
from tests.servers.services.discord_client import APPLICATION, DiscordService

pytestmark = pytest.mark.django_db


def registered(*arguments: str) -> dict[str, Any]:
    printed = StringIO()
    call_command("discord_register", "--json", *arguments, stdout=printed)
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def changes(service: DiscordService) -> list[tuple[str, str]]:
    return [(one.method, one.place) for one in service.requests if one.method in ("PUT", "PATCH")]


def test_it_puts_commands_addresses_and_the_account(service: DiscordService) -> None:
    done = registered()
    assert done["changed"] == ["commands", "addresses"]
    assert "permissions=274877991936" in done["invite_link"]
    assert (
        service.portal.known.application["interactions_endpoint_url"]
        == "https://letters.example/discord/interactions/"
    )
    assert service.portal.known.application["event_webhooks_status"] == 2
    (feed, feeds) = service.portal.known.commands[f"/applications/{APPLICATION}/commands"]
    assert (feed["default_member_permissions"], feeds["default_member_permissions"]) == ("32", None)
    assert {one["name"] for one in feed["options"]} >= {"add", "remove", "why", "digest", "settings"}
    assert ServiceAccount.objects.get().name == "discord"


def test_a_second_time_changes_nothing(service: DiscordService) -> None:
    registered()
    before = changes(service)
    assert registered()["changed"] == []
    assert changes(service) == before


def test_commands_may_be_tried_in_one_server(service: DiscordService) -> None:
    registered("--guild", "70070")
    assert list(service.portal.known.commands) == [f"/applications/{APPLICATION}/guilds/70070/commands"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DISCORD_BOT_TOKEN", "", "DISCORD_BOT_TOKEN"),
        ("DISCORD_APPLICATION_ID", "600000", "belongs to the application"),
        ("DISCORD_PUBLIC_KEY", "ab" * 32, "belongs to another application"),
        ("SITE_URL", "http://127.0.0.1:8000", "https://"),
        ("DISCORD_BOT_TOKEN", "wrong", "401"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_changes(
    name: str, value: str, said: str, service: DiscordService, settings: Any
) -> None:
    setattr(settings, name, value)
    with pytest.raises(CommandError, match=said):
        call_command("discord_register")
    assert changes(service) == []


def test_descriptions_are_in_all_languages(service: DiscordService) -> None:
    registered()
    (feed, _) = service.portal.known.commands[f"/applications/{APPLICATION}/commands"]
    for option in feed["options"]:
        words = option["description_localizations"]
        assert set(words) == {"de", "es-ES", "fr", "pt-BR"}
        assert option["description"] not in words.values(), option["name"]


def test_the_system_check_names_what_is_missing(settings: Any, service: DiscordService) -> None:
    def said() -> list[str]:
        found = run_checks(tags=[OWN_CHECKS])
        return [str(one.id) for one in found if str(one.id).startswith("chat.")]

    assert said() == []
    settings.DISCORD_BOT_TOKEN = ""
    assert said() == ["chat.W001"]
    settings.DISCORD_PUBLIC_KEY = settings.DISCORD_APPLICATION_ID = ""
    assert said() == []
    settings.DISCORD_BOT_TOKEN = "x"
    settings.DISCORD_PUBLIC_KEY = settings.DISCORD_APPLICATION_ID = "1"
    settings.SITE_URL = "http://127.0.0.1:8000"
    assert said() == ["chat.W002"]
