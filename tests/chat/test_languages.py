"""The bot has the languages of reader pages, within Discord's limits."""

import pytest
from django.conf import settings

from chat.commands.definitions import commands
from chat.models import Guild
from tests.chat.test_commands import some_feeds
from tests.servers.services.discord import CHANNEL
from tests.servers.services.discord_client import DiscordClient
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
