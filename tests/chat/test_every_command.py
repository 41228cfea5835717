"""All commands: no access to other servers' feeds, nothing done twice, all responses arrive."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from chat.alerts.post import note_troubles, post_alerts
from chat.commands.definitions import commands
from chat.commands.registry import COMMANDS
from chat.interactions.work import answer_due
from chat.models import Guild, GuildFeed, Interaction
from common.clock import utcnow
from common.secrets import opened
from feeds.polling.poll import poll_due
from subscriptions.models import PostRule, Subscribable
from tests.chat.sites import serve_feed
from tests.chat.test_commands import add, some_feeds
from tests.chat.test_journey import Rounds
from tests.delivery.ledger import Clock
from tests.examples import some_now
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import CHANNEL, GUILD
from tests.servers.services.discord_client import APPLICATION, DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)
OTHER_CHANNEL = "1200000000000000007"
# Required options besides the feed.
OPTIONS: dict[str, dict[str, Any]] = {"move": {"channel": OTHER_CHANNEL}, "digest": {"when": "daily"}}
WITHOUT_FEED = {"add", "list", "status", "settings"}
OF_ONE_FEED = sorted(set(COMMANDS["feed"]) - WITHOUT_FEED)
DEFERRED = ("add", "preview", "test", "move")
# A command in an answer, with its options.
NAMED = re.compile(r"`/(\w+) ?(\w*)((?: \w+(?::[^` ]*)?)*)`")
# Names of fields, values of Python, regular expressions.
INTERNAL = re.compile(r"\b[a-z]+_[a-z_]+\b|\{['\"]|\['|\bNone\b|<class|\(\?|\\[wbsd]\b")
OPTIONS_OF = {
    (command["name"], act["name"]): {option["name"] for option in act["options"]}
    for command in commands()
    for act in command["options"]
}


def data_of(client: DiscordClient, act: str, url: str) -> dict[str, Any]:
    options = {"url": url} if act == "add" else OPTIONS.get(act, {})
    given = options if act in WITHOUT_FEED else {"feed": "1", **options}
    return client._command(f"feed {act}", given)


@pytest.mark.django_db
@pytest.mark.parametrize("act", some_now(OF_ONE_FEED))
def test_the_feed_of_another_server_is_not_there(
    act: str, service: DiscordService, ada: DiscordClient
) -> None:
    some_feeds(1, guild=701)
    before = list(Subscribable.objects.values())
    ada.send(2, data_of(ada, act, ""))
    answer_due()
    assert "have that feed" in ada.said
    assert list(Subscribable.objects.values()) == before


@pytest.mark.parametrize("act", some_now(sorted(COMMANDS["feed"]), every=4))
def test_the_same_interaction_is_answered_once(
    act: str, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channels[OTHER_CHANNEL] = GUILD
    url = serve_feed(site)
    if act != "add":
        add(ada, url)
        poll_due(clock=Clock(utcnow()))
    for _ in range(2):
        ada.send(2, data_of(ada, act, url), number="1500000000000000000")
        answer_due()
    assert "already answered" in ada.said
    assert GuildFeed.objects.count() == 1
    assert len(service.messages) == (1 if act == "test" else 0)


def ready(service: DiscordService, ada: DiscordClient, site: FeedServer, act: str) -> dict[str, Any]:
    service.channels[OTHER_CHANNEL] = GUILD
    url = serve_feed(site)
    if act != "add":
        add(ada, url)
        poll_due(clock=Clock(utcnow()))
    return data_of(ada, act, url)


def was_done(act: str, service: DiscordService) -> bool:
    match act:
        case "test":
            return len(service.messages) == 1
        case "move":
            return GuildFeed.objects.get().channel_id == int(OTHER_CHANNEL)
    return GuildFeed.objects.count() == 1


@pytest.mark.parametrize("act", some_now(DEFERRED))
def test_with_an_expired_token_it_is_done_and_forgotten(
    act: str, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    ada.send(2, ready(service, ada, site, act))
    service.interactions.clock = lambda: utcnow() + timedelta(minutes=16)
    answer_due()
    row = Interaction.objects.latest("created_at")
    assert (row.state, opened(row.secrets)) == (Interaction.State.DONE, {})
    assert was_done(act, service)


@pytest.mark.parametrize("act", some_now(DEFERRED))
@pytest.mark.parametrize("down", some_now([Reply(503), Reply(hangs_up=True)]), ids=["refuses", "hangs up"])
def test_an_answer_waits_while_discord_is_down(
    act: str, down: Reply, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    ada.send(2, ready(service, ada, site, act))
    place = f"/api/v10/webhooks/{APPLICATION}/{ada.token}/messages/@original"
    service.paths[place] = down
    clock = Clock(utcnow())
    for _ in range(3):
        assert answer_due(clock=clock) == 0
        clock.now += timedelta(minutes=1)
    assert was_done(act, service)
    del service.paths[place]
    clock.now += timedelta(minutes=2)
    assert answer_due(clock=clock) == 1
    assert ada.said
    assert was_done(act, service)


@pytest.mark.parametrize("act", some_now(DEFERRED))
def test_an_answer_that_is_too_early_comes_again(
    act: str, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    ada.send(2, ready(service, ada, site, act))
    service.not_yet, clock = 1, Clock(utcnow())
    assert answer_due(clock=clock) == 0
    clock.now += timedelta(seconds=2)
    assert answer_due(clock=clock) == 1
    assert ada.said


def check_words(said: str) -> list[tuple[str, str, dict[str, str]]]:
    """Check an answer; return the commands that it names."""
    found = []
    for name, act, typed in NAMED.findall(said):
        given = {option.partition(":")[0]: option.partition(":")[2] for option in typed.split()}
        assert (name, act) in OPTIONS_OF or (name in COMMANDS and not act), said
        assert given.keys() <= OPTIONS_OF.get((name, act), set()), said
        found.append((name, act, given))
    assert said.count("`/") == len(found), said
    assert not INTERNAL.search(NAMED.sub("", re.sub(r"https?://\S+", "", said))), said
    return found


def facts() -> list[Any]:
    present = GuildFeed.objects.present()
    of_feed = ("title", "options", "stopped", "arrangement")
    return [
        list(present.values("channel_id", "feed__url", *(f"subscribable__{name}" for name in of_feed))),
        list(PostRule.objects.values("action", "pattern")),
        list(Guild.objects.values("language")),
    ]


Did = Callable[[DiscordClient], object]


def press(*labels: str, **fields: str) -> Did:
    def did(ada: DiscordClient) -> None:
        for label in labels:
            ada.press(label)
        if fields:
            ada.fill_in(**fields)

    return did


def menu(value: str, name: str) -> Did:
    return lambda ada: ada.choose(*filter(None, [value]), menu=name)


def nothing(ada: DiscordClient) -> None:
    """The command alone is enough."""


# The change, and what people add to the command that its answer names: options, and what they do then.
CHANGES: dict[str, tuple[str, dict[str, str], Did, dict[str, str], Did]] = {
    "add": ("add", {"url": "", "channel": OTHER_CHANNEL}, nothing, {}, press("Remove")),
    "remove": ("remove", {"feed": "1"}, press("Remove"), {"url": ""}, nothing),
    "pause": ("pause", {"feed": "1"}, nothing, {}, nothing),
    "pause all": ("pause", {"feed": "all"}, nothing, {}, nothing),
    "move": ("move", {"feed": "1", "channel": OTHER_CHANNEL}, nothing, {"channel": CHANNEL}, nothing),
    "digest": ("digest", {"feed": "1", "when": "daily"}, nothing, {}, nothing),
    "filter": ("filter", {"feed": "1"}, press(keep="honey*"), {}, press(keep="", drop="")),
    "style": ("edit", {"feed": "1"}, menu("link", "style"), {"feed": "1"}, menu("usual", "style")),
    "words": ("edit", {"feed": "1"}, press("Words", footer="Bees"), {"feed": "1"}, press("Words", footer="")),
    "address": ("edit", {"feed": "1", "url": "/other.xml"}, nothing, {"url": ""}, nothing),
    "settings": ("settings", {"language": "de"}, nothing, {"language": "en"}, nothing),
}


@pytest.mark.parametrize("change", some_now(CHANGES))
def test_the_answer_to_a_change_names_the_command_that_undoes_it(
    change: str, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    act, options, then, undone_with, undo = CHANGES[change]
    service.channels[OTHER_CHANNEL] = GUILD
    url = serve_feed(site)
    serve_feed(site, "/other.xml")
    add(ada, url)
    ada.command("feed settings", language="en")

    def run(name: str, given: dict[str, str], did: Did) -> None:
        if "url" in given:
            given = {**given, "url": site.url(given["url"]) if given["url"] else url}
        ada.command(f"feed {name}", **given)
        answer_due()
        did(ada)
        answer_due()

    before = facts()
    run(act, options, then)
    assert facts() != before
    named = check_words(ada.said)
    assert named, ada.said
    _name, undoing, given = named[-1]
    run(undoing, {**given, **undone_with}, undo)
    check_words(ada.said)
    assert facts() == before


@pytest.mark.slow
def test_all_answers_say_what_people_know(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    """With posts that a filter left out, that Discord refused, and a channel that is gone."""
    place = f"/api/v10/channels/{CHANNEL}/messages"
    service.channels[OTHER_CHANNEL] = GUILD
    url, rounds = serve_feed(site, posts=0), Rounds()

    def new_post(number: int, answer: Reply | None = None, *, filtered: str = "") -> None:
        if answer:
            service.paths[place] = answer
        ada.command("feed filter", feed="1")
        ada.fill_in(drop=filtered)
        serve_feed(site, posts=number, began=rounds.now - timedelta(hours=number))
        rounds(5)

    add(ada, url)
    rounds(2)
    new_post(1, filtered="refused* post")
    too_long = {"content": {"_errors": [{"code": "LENGTH", "message": "Must be 9 or fewer in length."}]}}
    new_post(2, Reply(400, {"code": 50035, "message": "Invalid Form Body", "errors": too_long}))
    new_post(3, Reply(404, {"code": 10003, "message": "Unknown Channel"}))
    said = {}
    for act in sorted(set(COMMANDS["feed"]) - {"remove", "move"}):
        ada.send(2, data_of(ada, act, url))
        answer_due()
        if ada.exchange and ada.exchange.message:
            said[act] = ada.said
    for options in ({"sender": "Discord bees"}, {"sender": "x" * 81}, {"picture": "bees"}, {"every": "no"}):
        ada.command("feed edit", feed="1", **options)
        answer_due()
        said[str(options)] = ada.said
    note_troubles(now=rounds.now)
    service.paths.clear()
    post_alerts(clock=Clock(rounds.now))
    for words in (*said.values(), *(message["content"] for message in service.messages)):
        check_words(words)
    assert "contains “post”" in said["why"]
    assert "Must be 9 or fewer in length" in said["why"]
    assert "`/feed move`" in said["list"]
    assert not any("token" in words for words in said.values())
