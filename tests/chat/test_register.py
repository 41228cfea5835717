"""`discord_register`: its checks, its requests to Discord, and that a repetition changes nothing.

The bot has the languages of reader pages, within Discord's limits.
"""

import json
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from chat.commands.definitions import commands
from chat.models import Guild
from common.checks import OWN_CHECKS
from delivery.models import ServiceAccount
from tests.chat.test_commands import some_feeds
from tests.servers.services.discord import CHANNEL
from tests.servers.services.discord_client import APPLICATION, DiscordClient, DiscordService
from tests.site.test_catalogues import catalogue

LANGUAGES = [code for code, _ in settings.LANGUAGES if not code.startswith("en")]
# Limits of forms and buttons (messages.py); anything longer would be cut.
ROOM = {
    "Name": 45,
    "Looks": 45,
    "Words": 45,
    "Card footer": 45,
    "Colour": 45,
    "Words that trigger the mention": 45,
    "Threads": 45,
    "Thread for each post: hours": 45,
    "Thread names": 45,
    "Forum tags: IDs": 45,
    "Its name; - for none": 100,
    "Leave empty to mention for each post": 100,
    "1, 24, 72 or 168; empty: none": 100,
    "Role to mention: none": 100,
    "Short: title, age and beginning": 100,
    "Publish to servers that follow the channel": 100,
    "Without a sound": 45,
    "Change a feed": 45,
    "Filter": 45,
    "Post only posts with one of these": 45,
    "Skip posts with one of these": 45,
    'Words, "phrases in quotes", or photo* for words that start with it': 100,
    "Post test": 80,
    "Post newest 3": 80,
    "Which one?": 100,
}


def registered(*arguments: str) -> dict[str, Any]:
    printed = StringIO()
    call_command("discord_register", "--json", *arguments, stdout=printed)
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def changes(service: DiscordService) -> list[tuple[str, str]]:
    return [(one.method, one.place) for one in service.requests if one.method in ("PUT", "PATCH")]


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_a_second_time_changes_nothing(service: DiscordService) -> None:
    registered()
    before = changes(service)
    assert registered()["changed"] == []
    assert changes(service) == before


@pytest.mark.django_db
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
@pytest.mark.django_db
def test_what_is_wrong_is_said_and_nothing_changes(
    name: str, value: str, said: str, service: DiscordService, settings: Any
) -> None:
    setattr(settings, name, value)
    with pytest.raises(CommandError, match=said):
        call_command("discord_register")
    assert changes(service) == []


@pytest.mark.django_db
def test_descriptions_are_in_all_languages(service: DiscordService) -> None:
    registered()
    (feed, _) = service.portal.known.commands[f"/applications/{APPLICATION}/commands"]
    for option in feed["options"]:
        words = option["description_localizations"]
        assert set(words) == {"de", "es-ES", "fr", "pt-BR"}
        assert option["description"] not in words.values(), option["name"]


@pytest.mark.django_db
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


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("de", "Dieser Server hat noch keine Feeds"),
        ("es-419", "Este servidor todavía no tiene feeds"),
        ("fr", "Ce serveur n’a pas encore de flux"),
        ("pt-BR", "Este servidor ainda não tem feeds"),
        ("en-GB", "This server has no feeds yet"),
        ("ja", "This server has no feeds yet"),
    ],
)
def test_an_answer_is_in_the_persons_language(locale: str, said: str, ada: DiscordClient) -> None:
    ada.locale = locale
    ada.command("feed list")
    assert said in ada.said


@pytest.mark.django_db
def test_forms_of_all_languages_fit(ada: DiscordClient) -> None:
    some_feeds(1)
    Guild.objects.update(log_channel=int(CHANNEL))
    for locale in ("de", "es-ES", "fr", "pt-BR"):
        ada.locale = locale
        for part in ("looks", "words", "threads"):
            ada.command("feed edit", feed="1", part=part)
        ada.command("feed filter", feed="1")
        ada.command("feed settings")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_of_a_form_is_cut(language: str) -> None:
    there = {entry.msgid: entry.msgstr for entry in catalogue(language) if entry.msgctxt in (None, "Discord")}
    for words, room in ROOM.items():
        assert 0 < len(there[words]) <= room, there[words]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_description_of_a_command_is_cut(language: str) -> None:
    for entry in catalogue(language):
        if any(place == "chat/commands/definitions.py" for place, _ in entry.occurrences):
            assert len(entry.msgstr) <= 100, entry.msgstr


def test_choices_have_names_in_the_persons_language_and_the_same_values() -> None:
    feed = commands()[0]
    digest = next(one for one in feed["options"] if one["name"] == "digest")
    when = next(one for one in digest["options"] if one["name"] == "when")
    assert [choice["value"] for choice in when["choices"]] == ["each", "daily", "weekly"]
    assert [choice["name_localizations"]["pt-BR"] for choice in when["choices"]] == [
        "cada publicação",
        "todo dia",
        "toda semana",
    ]
