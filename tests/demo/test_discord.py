"""The demo's Discord: parses lines, signs, waits three seconds, and expires tokens in fifteen minutes."""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.commands.definitions import commands
from chat.rules.signatures import is_signed
from demo.answer import ApiAnswer, ApiRequest
from demo.discord import interactions as ours
from demo.discord.api import DiscordApi
from demo.discord.interactions import EXPIRED, UNKNOWN_WEBHOOK, Interactions, NoAnswer
from demo.discord.limits import AUTOCOMPLETE, BUTTON, COMMAND, COMPONENT, INPUT, MENU, MODAL, ROW
from demo.discord.markup import drawn
from demo.discord.pages import DiscordPages
from demo.discord.places import API, CHANNEL, CHANNELS, DISCORD, GUILD, GUILD_NAME
from demo.discord.portal import Portal
from demo.discord.typed import BadLine, read_line, suggestions
from demo.timeline import Timeline
from tests.factories import NOW
from tests.servers.services.discord_client import OURS

MESSAGE = {"content": "Hello", "allowed_mentions": {"parse": []}, "flags": 64}
NEWS = "1000000000000000003"
HALF_TYPED = ["/feed add channel:", "/feed add a.example st", "/feed why feed:x ", "/feed digest when:da"]
HERE = f"/discord/{CHANNELS[CHANNEL]}/"


class Program:
    """Program with a scripted response to interactions."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[bytes, Mapping[str, str]]] = []
        self.now = NOW
        self.interactions = Interactions(OURS, self.deliver, lambda: self.now)

    def deliver(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        self.asked.append((body, headers))
        return 200, json.dumps(self.answer).encode()

    def used(self) -> ours.Exchange:
        data = {"name": "feed", "options": [{"name": "list", "options": []}]}
        return self.interactions.send({"type": COMMAND, "channel_id": CHANNEL, "data": data})

    def says(self, token: str, body: Any, method: str = "PATCH") -> Any:
        rest = f"{token}/messages/@original" if method == "PATCH" else token
        return self.interactions.webhook(ApiRequest(method, "/", body=json.dumps(body).encode()), rest)


def test_what_it_sends_is_signed() -> None:
    program = Program(type=4, data=MESSAGE)
    program.used()
    [(body, headers)] = program.asked
    stamp, signature = headers["X-Signature-Timestamp"], headers["X-Signature-Ed25519"]
    assert is_signed(body, signature=signature, timestamp=stamp, public_key=OURS.public_key, now=NOW)


def test_an_answer_after_three_seconds_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 3.1))
    monkeypatch.setattr("demo.discord.interactions.time.monotonic", lambda: next(clock))
    program = Program(type=4, data=MESSAGE)
    with pytest.raises(NoAnswer, match="three seconds"):
        program.used()
    [exchange] = program.interactions.exchanges.values()
    assert (exchange.message, bool(exchange.failure)) == (None, True)


@pytest.mark.parametrize(
    "answer",
    [
        {"type": 8, "data": {"choices": []}},
        {"type": 4, "data": {**MESSAGE, "allowed_mentions": {"parse": ["everyone"]}}},
        {"type": 4, "data": {**MESSAGE, "content": "x" * 2001}},
        {"type": 4, "data": {}},
        {},
    ],
)
def test_what_discord_would_not_take_is_no_answer(answer: dict[str, Any]) -> None:
    program = Program(**answer)
    with pytest.raises(NoAnswer):
        program.used()
    assert program.interactions.faults


def test_a_token_names_nothing_before_the_answer_and_nothing_after_a_quarter_of_an_hour() -> None:
    program = Program(type=5, data={"flags": 64})
    assert program.says("unknown", MESSAGE) == UNKNOWN_WEBHOOK
    exchange = program.used()
    assert exchange.waits
    assert exchange.is_ephemeral
    program.now = NOW + timedelta(minutes=15)
    assert program.says(exchange.token, MESSAGE).status == 200
    assert exchange.message == MESSAGE
    assert program.says(exchange.token, MESSAGE, method="POST").status == 200
    assert exchange.follow_ups == [MESSAGE]
    program.now += timedelta(seconds=1)
    assert program.says(exchange.token, MESSAGE) == EXPIRED


def test_an_address_that_takes_whatever_is_signed_badly_is_not_called() -> None:
    program = Program(type=1)
    assert "not 401" in program.interactions.wrong_with("https://letters.example/")


@pytest.mark.parametrize(
    ("line", "words", "options"),
    [
        ("/feed add blog.example", "feed add", {"url": "blog.example"}),
        (
            "/feed add url:http://a.example:80/ start:3",
            "feed add",
            {"url": "http://a.example:80/", "start": "3"},
        ),
        ("/feed add blog.example channel:#news", "feed add", {"url": "blog.example", "channel": NEWS}),
        ("/feed why feed:Bees of the town", "feed why", {"feed": "Bees of the town"}),
        ("/feeds list", "feeds list", {}),
    ],
)
def test_a_line_is_read_as_discord_reads_it(line: str, words: str, options: dict[str, str]) -> None:
    read = read_line(line, commands(), CHANNELS)
    assert (read.words, read.options) == (words, options)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hello", "no such command"),
        ("/feed", "no such command"),
        ("/feed add", "required"),
        ("/feed add a.example start:2", "one of 0, 1, 3"),
        ("/feed add a.example channel:#nowhere", "no channel"),
        ("/feed digest 1 when:daily hour:24", "from 0 to 23"),
    ],
)
def test_what_discord_would_not_send_is_said(line: str, said: str) -> None:
    with pytest.raises(BadLine, match=said):
        read_line(line, commands(), CHANNELS)


@given(st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(HALF_TYPED))
def test_any_line_is_read_or_refused_and_has_choices(line: str) -> None:
    known = commands()
    assert len(suggestions(line, known, CHANNELS)) <= 25
    with suppress(BadLine):
        assert read_line(line, known, CHANNELS).words


@given(st.text(st.sampled_from("<>&\"'*`[]()\\#@:t1 /hps"), max_size=60))
def test_words_of_others_are_no_markup_of_the_page(text: str) -> None:
    shown = drawn(f"{text}<script>", channels=CHANNELS, people={}, now=NOW)
    assert "<script" not in shown


def test_markup_is_drawn() -> None:
    written = r"**[A \*b\*](<https://a.example/?x=1&y=2>)** in <#%s> <t:1767225600:R> `/feed`" % NEWS  # noqa: UP031
    shown = drawn(written, channels=CHANNELS, people={}, now=NOW)
    assert '<strong><a href="https://a.example/?x=1&amp;y=2">A *b*</a></strong>' in shown
    assert "#news</span>" in shown
    assert " ago</time>" in shown
    assert ">01:00</time>" in drawn("<t:1767225600:t>", channels=CHANNELS, people={}, now=NOW)
    assert "<code>/feed</code>" in shown


@pytest.fixture
def program() -> Program:
    return Program(type=4, data={**MESSAGE, "content": "<b>no</b> **yes**"})


@pytest.fixture
def pages(program: Program, tmp_path: Path) -> DiscordPages:
    """Return the pages, with the bot on the server."""
    portal = Portal(program.interactions, folder=tmp_path)
    portal.known.commands[f"/applications/{OURS.id}/commands"] = commands()
    portal.install(GUILD, GUILD_NAME)
    return DiscordPages(DiscordApi(Timeline(tmp_path, lambda: NOW), portal))


def posted(pages: DiscordPages, fields: str, **headers: str) -> Any:
    return pages.answer(ApiRequest("POST", HERE, headers, fields.encode()))


def text(pages: DiscordPages, url: str = HERE) -> str:
    found = pages.answer(ApiRequest("GET", url))
    assert found is not None
    return found.body.decode()


def test_a_command_leads_back_to_the_channel_where_its_answer_stands(pages: DiscordPages) -> None:
    assert posted(pages, "line=/feed list").location == HERE
    shown = text(pages)
    assert "Ada</b> used <code>/feed list</code>" in shown
    assert "&lt;b&gt;no&lt;/b&gt; <strong>yes</strong>" in shown
    assert "Only you can see this" in shown
    [token] = pages.interactions.exchanges
    assert posted(pages, f"dismiss={token}").location == HERE
    assert "used" not in text(pages)


def test_another_sites_page_sends_nothing(pages: DiscordPages) -> None:
    answer = posted(pages, "line=/feed list", Origin="https://evil.example", Host="127.0.0.1:8001")
    assert answer.status == 403
    assert posted(pages, "line=/feed list", Origin="http://h", Host="h").status == 303


def test_buttons_that_are_not_there_are_not_pressed(pages: DiscordPages) -> None:
    answer = posted(pages, "on=1&press=v1:gone:1")
    assert answer.status == 400
    assert b"not there any more" in answer.body


def test_a_message_of_the_bot_is_posted_once_by_its_nonce(pages: DiscordPages) -> None:
    body = json.dumps({**MESSAGE, "flags": 4, "nonce": "n", "enforce_nonce": True}).encode()
    headers = {"Authorization": f"Bot {OURS.bot_token}"}
    url = f"/api/v10/channels/{CHANNEL}/messages"
    answers = [pages.api.answer(ApiRequest("POST", url, headers, body)) for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(pages.api.timeline.posts(DISCORD)) == 1
    assert pages.api.answer(ApiRequest("POST", url, {}, body)).status == 401


def test_what_it_knows_is_there_after_a_restart(pages: DiscordPages, tmp_path: Path) -> None:
    again = Portal(Program().interactions, folder=tmp_path)
    assert again.known.guilds == {GUILD: GUILD_NAME}


def test_before_the_bot_is_there_the_page_says_what_to_do(tmp_path: Path) -> None:
    portal = Portal(Program().interactions)
    fresh = DiscordPages(DiscordApi(Timeline(tmp_path, lambda: NOW), portal))
    assert "Add Feedletter" in text(fresh)
    assert 'id="line"' not in text(fresh)
    assert "Authorize" in text(fresh, f"/oauth2/authorize?client_id={OURS.id}")
    assert "Application not found" in text(fresh, "/oauth2/authorize?client_id=1")


def of_the_bot(pages: DiscordPages, method: str, place: str, body: Any = None) -> ApiAnswer:
    headers = {"Authorization": f"Bot {OURS.bot_token}"}
    return pages.api.answer(ApiRequest(method, f"{API}{place}", headers, json.dumps(body).encode()))


def told(program: Program) -> Any:
    """Return the type of the last interaction, and its data."""
    asked = json.loads(program.asked[-1][0])
    return asked["type"], asked["data"]


def test_a_button_and_a_menu_are_pressed_where_they_stand(pages: DiscordPages, program: Program) -> None:
    button = {"type": BUTTON, "custom_id": "v1:pause:1", "label": "Pause", "style": 1}
    options = [{"label": word, "value": word} for word in ("daily", "weekly")]
    menu = {"type": MENU, "custom_id": "v1:when:1", "options": options}
    rows = [{"type": ROW, "components": [part]} for part in (button, menu)]
    program.answer["data"] = {**MESSAGE, "components": rows}
    posted(pages, "line=/feed list")
    [name] = pages.interactions.exchanges
    program.answer |= {"type": 7, "data": {**MESSAGE, "content": "Paused"}}
    assert posted(pages, f"on={name}&press=v1:when:1&value=daily").location == HERE
    assert told(program) == (
        COMPONENT,
        {"custom_id": "v1:when:1", "component_type": MENU, "values": ["daily"]},
    )
    assert "Paused" in text(pages)
    kept = of_the_bot(pages, "POST", f"/channels/{CHANNEL}/messages", {**MESSAGE, "flags": 0})
    number = kept.said["id"]
    of_the_bot(
        pages, "PATCH", f"/channels/{CHANNEL}/messages/{number}", {**MESSAGE, "components": rows, "flags": 0}
    )
    assert posted(pages, f"on={number}&press=v1:pause:1").location == HERE
    assert told(program) == (COMPONENT, {"custom_id": "v1:pause:1", "component_type": BUTTON})
    post = pages.api.timeline.find(DISCORD, number)
    assert post is not None
    assert (post.body or {})["content"] == "Paused"


def test_a_form_opens_and_is_sent_once(pages: DiscordPages, program: Program) -> None:
    line = {"type": INPUT, "custom_id": "title", "label": "Title", "max_length": 100, "value": "Bees"}
    form = {"custom_id": "v1:edit:1", "title": "Edit", "components": [{"type": ROW, "components": [line]}]}
    program.answer = {"type": 9, "data": form}
    opened = posted(pages, "line=/feed list").location
    assert opened.startswith(f"{HERE}?form=")
    assert 'value="Bees"' in text(pages, opened)
    program.answer = {"type": 4, "data": {**MESSAGE, "content": "Saved"}}
    token = opened.partition("form=")[2]
    assert posted(pages, f"form={token}&title=Wasps").location == HERE
    kind, data = told(program)
    assert (kind, data["components"][0]["components"][0]["value"]) == (MODAL, "Wasps")
    assert posted(pages, "form=gone&title=x").status == 400


def test_choices_are_the_commands_and_then_the_applications(pages: DiscordPages, program: Program) -> None:
    def choices(line: str) -> list[str]:
        return [
            one["label"] for one in json.loads(text(pages, f"{HERE}suggestions?{urlencode({'line': line})}"))
        ]

    assert "/feed add" in choices("/feed a")
    program.answer = {"type": 8, "data": {"choices": [{"name": "1 · Bees", "value": "1"}]}}
    assert choices("/feed why feed:be") == ["1 · Bees"]
    assert told(program)[0] == AUTOCOMPLETE
    program.answer = {"type": 4, "data": MESSAGE}
    assert choices("/feed why feed:be") == []


def test_who_follows_the_invitation_adds_the_bot_once(tmp_path: Path) -> None:
    portal = Portal(Program().interactions)
    fresh = DiscordPages(DiscordApi(Timeline(tmp_path, lambda: NOW), portal))
    assert of_the_bot(fresh, "GET", f"/channels/{CHANNEL}").status == 403
    url = f"/oauth2/authorize?client_id={OURS.id}"
    for _ in range(2):
        answer = fresh.answer(ApiRequest("POST", url))
        assert answer is not None
        assert answer.location == f"/discord/{CHANNELS[NEWS]}/"
    assert portal.known.guilds == {GUILD: GUILD_NAME}
    assert len(fresh.api.timeline.posts(DISCORD)) == 1


def test_links_of_discord_lead_to_its_pages(pages: DiscordPages) -> None:
    answer = pages.answer(ApiRequest("GET", f"/channels/{GUILD}/{CHANNEL}/77"))
    assert answer is not None
    assert answer.location == f"{HERE}#77"
    assert "{" in text(pages, "/discord/assets/channel.css")
    assert pages.answer(ApiRequest("GET", "/discord/assets/../api.py")) is None


def test_the_bot_reads_and_changes_what_it_may(pages: DiscordPages) -> None:
    channel = f"/channels/{CHANNEL}"
    made = of_the_bot(pages, "POST", f"{channel}/messages", {**MESSAGE, "flags": 0})
    number = made.said["id"]
    for method, place, status, holds in (
        ("GET", "/users/@me", 200, OURS.id),
        ("GET", channel, 200, number),
        ("GET", f"{channel}/messages", 200, number),
        ("GET", f"{channel}/messages/{number}", 200, "Hello"),
        ("PUT", channel, 404, ""),
        ("GET", "/channels/5", 404, "Unknown Channel"),
        ("GET", f"{channel}/messages/5", 404, "Unknown Message"),
        ("PATCH", f"{channel}/messages/{number}", 400, "allowed_mentions"),
        ("POST", f"{channel}/messages", 400, "allowed_mentions"),
    ):
        answer = of_the_bot(pages, method, place, {"content": "to @everyone"})
        assert (answer.status, holds in json.dumps(answer.said)) == (status, True), (method, place)
    twice = [{**MESSAGE, "flags": 0, "nonce": nonce, "enforce_nonce": True} for nonce in ("a", "b")]
    assert len({str(of_the_bot(pages, "POST", f"{channel}/messages", body).said) for body in twice}) == 2


def test_the_bot_posts_under_another_name_by_the_webhook_of_its_channel(pages: DiscordPages) -> None:
    (webhook,) = of_the_bot(pages, "GET", f"/channels/{NEWS}/webhooks").said
    assert webhook["user"]["id"] == OURS.id
    place = f"/webhooks/{webhook['id']}/{webhook['token']}"
    look = {"username": "The Hive", "avatar_url": "https://bees.example/hive.png"}
    made = of_the_bot(pages, "POST", place, {**MESSAGE, "flags": 0, **look})
    assert (made.said["channel_id"], made.said["webhook_id"]) == (NEWS, webhook["id"])
    assert "<b>The Hive</b>" in text(pages, "/discord/news/")
    assert 'src="https://bees.example/hive.png"' in text(pages, "/discord/news/")
    assert of_the_bot(pages, "DELETE", f"{place}/messages/{made.said['id']}").status == 204
    for wrong in (f"/webhooks/{webhook['id']}", f"/webhooks/5/{webhook['token']}", f"{place}/x"):
        assert of_the_bot(pages, "POST", wrong, MESSAGE).said["code"] == 10015


def test_what_an_application_says_later_goes_by_its_token(pages: DiscordPages, program: Program) -> None:
    program.answer = {"type": 5, "data": {"flags": 64}}
    posted(pages, "line=/feed list")
    [token] = pages.interactions.exchanges
    place = f"/webhooks/{OURS.id}/{token}/messages/@original"
    assert of_the_bot(pages, "PATCH", place, {**MESSAGE, "content": "At last"}).status == 200
    assert "At last" in text(pages)
