"""Fields of destinations and options of every service: what is refused, and how the rest is kept.

Secrets among the fields of destinations: accepted, and never shown.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, CrashPolicy
from channels.bridge import Bridge
from channels.fields import posting_url
from channels.http.client import masked, secrets_in
from common.ports import channels
from common.ports.channels import InvalidDestination
from delivery.models import Account
from tests.servers.services import bluesky, discord, gotify, incoming_webhooks, ntfy, telegram, zulip
from tests.servers.services.push_service import Browser, text_of

URL = "https://hooks.example/services/T0000/B0000/very-secret-token?key=another-secret"
SECRET = "very-secret"
DISCORD_URL = f"https://discord.com{discord.WEBHOOK}"
SLACK = {"account": "news", "webhook_url": "https://e.example/services/x"}
HOOKS = {"account": "news", "webhook_url": "https://e.example/hooks/x"}
GOOD: Mapping[str, Mapping[str, str]] = {
    "gotify": {"account": "phone", "server_url": "https://gotify.example", "access_token": gotify.TOKEN},
    "ntfy": {"server_url": "https://ntfy.example", "topic": "news"},
    "webhook": {
        "account": "shop", "webhook_url": "https://e.example/in", "signing_secret": incoming_webhooks.SECRET,
    },
    "slack": SLACK, "mattermost": HOOKS, "rocketchat": HOOKS,
    "apprise": {"account": "phone", "apprise_url": "gotifys://e.example/x"},
    "matrix": {"server_url": "https://e.example", "access_token": "t", "room": "!room:e.example"},
    "telegram": {"account": "bees", "chat": "@bees_news"},
    "discord": {"webhook_url": DISCORD_URL},
    "discord_bot": {"account": "hive", "channel_id": discord.CHANNEL},
    "mastodon": {"account": "bot", "instance_url": "https://fake.example", "access_token": "t"},
    "bluesky": {"handle": bluesky.HANDLE, "app_password": bluesky.PASSWORD},
    "zulip": {
        "server_url": "https://chat.example", "account": zulip.BOT, "api_key": zulip.KEY, "stream": "news",
    },
    "webpush": {
        "endpoint": "https://push.example/wpush/v2/abc",
        "p256dh": text_of(Browser("").point),
        "auth": text_of(b"1" * 16),
    },
}  # fmt: skip
ELSEWHERE = ("https://e.example/other/very-secret", "http://e.example/hooks/very-secret")
WRONG: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gotify": {"account": ("",), "server_url": ("ftp://gotify.example",), "access_token": ("a b",)},
    "ntfy": {"topic": ("a b", "")},
    "webhook": {
        "webhook_url": (
            "http://shop.example/very-secret", "very-secret", "https://a:very-secret@shop.example/",
            "https://shop.example/very-secret\nx",
        ),
        "signing_secret": ("very-secret", "whsec_c2hvcnQ="),
    },
    **{key: {"webhook_url": ELSEWHERE} for key in ("slack", "mattermost", "rocketchat")},
    "apprise": {
        "apprise_url": (
            "", "very-secret", "https://very-secret.example", "syslog://very-secret", "json://very-secret",
            "discord://1/very-secret", "mailto://very-secret", "gotify:///very-secret", "gotify://[x/very-secret",
            "gotifys://e.example/very-secret?verify=no", "gotifys://e.example/very-secret?redirect=yes",
            "gotifys://e.example/very-secret?retry=9", "gotifys://e.example/very secret", "file:///etc/very-secret",
        ),
    },
    "matrix": {"room": ("", "news", "@a:b", "#news", "! a:b", "!" + "x" * 300, "#" + "é" * 130 + ":b")},
    "telegram": {
        "chat": ("", "@a", "a b", "https://evil.example/bees", "--1", "1.5"),
        "account": ("", "hive", "nobody"),
    },
    "discord": {
        "webhook_url": (
            "", "none", DISCORD_URL.replace("https", "http"), f"https://evil.example{discord.WEBHOOK}",
            f"https://u@discord.com{discord.WEBHOOK}", f"https://discord.com.evil.example{discord.WEBHOOK}",
            f"{DISCORD_URL}/github", f"https://discord.com/api/webhooks/{discord.WEBHOOK_ID}",
            "https://[discord.com", f"https://discord.com:99{discord.WEBHOOK}",
        ),
    },
    "discord_bot": {
        "account": ("", "bees", "nobody"),
        "channel_id": ("", "general", "#general", "-1", "1" * 30),
    },
    "mastodon": {
        "instance_url": (
            "", "http://fake.example", "ftp://fake.example", "https://a:b@fake.example", "https://fake.example/@bot",
            "https://fake.example/?x=1", "https://fake example", "https://fake.example:99999", "https://", "https://[::",
            "https://-x.example", "javascript:alert(1)", "https://" + "a" * 300, "https://x\r\ny.example",
            "bot@fake.example", "http://127.0.0.1.evil.example",
        ),
        "access_token": ("", "two words", "a\r\nX-Evil: 1", "é", "x" * 501),
        "account": ("", "a b", "a@b", "x" * 65, "a/b"),
    },
    "bluesky": {
        "handle": (
            "", "bees", "a b.example", "bees@example.org", "-x.example", "x.1", "x..y",
            "did:plc:short", "did:key:z6Mk", "did:web:a/../b",
            "https://bsky.app/profile/x", "x" * 64 + ".example", "a." * 130 + "example",
        ),
        "app_password": ("", "a\nb", "x" * 257),
    },
    "zulip": {
        "account": ("", "bot", "b:t@e.example", "böt@e.example", "a b@e.example", "bot@e.example\nX: 1"),
        "stream": ("", "x" * 61),
    },
    "webpush": {
        "endpoint": (
            "", "http://push.example/1", "https://127.0.0.1/1", "https://[::1]/1", "https://10.1.2.3/1",
            "https://169.254.169.254/latest", "https://localhost/1", "https://db.internal/1",
            "https://a:b@push.example/1", "https://push.example:99999/1", "https://[push/1",
            "https://push.example/" + "x" * 2_000, "https://push.example/a b", "javascript:alert(1)",
        ),
        "p256dh": (text_of(b"\x04" + b"\x01" * 64), text_of(b"\x04" * 20), "ümläut", "!" * 87),
        "auth": (text_of(b"1" * 15), "==", ""),
    },
}  # fmt: skip
# Fields that do not go together, and the one that is named.
WRONG_TOGETHER = (
    ("ntfy", {"user": "phil"}, "password"),
    ("ntfy", {"access_token": ntfy.TOKEN, "user": "phil", "password": "x"}, "access_token"),
)
WRONG_OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ntfy": {"tags": ("a,b,c,d,e,f", "<b>"), "priority": ("9",), "picture": ("maybe",)},
    "telegram": {"thread_id": ("0", "x"), "link_preview": ("huge",), "photo": ("no",)},
    "discord": {
        "role": ("everyone", "<@&1400000>"), "thread_id": ("x",), "style": ("loud",), "silent": ("no way",),
        "applied_tags": ("10000 x", "10001 10002 10003 10004 10005 10006"),
        "sender_name": ("My Discord", "clyde", "x" * 81, "Here"), "sender_picture": ("javascript:alert(1)",),
        "thread_name": ("{nothing}",),
    },
    "mastodon": {
        "visibility": ("direct",), "language": ("german",), "spoiler": ("x" * 201,), "colour": ("red",),
    },
    "zulip": {"topic": ("x" * 61,)},
    "bluesky": dict.fromkeys(("card", "tags", "thread", "content_label", "language"), ("maybe",)),
}  # fmt: skip
TIDY: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
    ("ntfy", {"tags": " bee,  newspaper ,"}, {"tags": "bee,newspaper"}),
    (
        "telegram",
        {"photo": "on", "silent": "on", "thread_id": " 7 ", "link_preview": "", "when_unsure": "skip"},
        {"photo": "on", "silent": "on", "thread_id": "7", "when_unsure": "skip"},
    ),
    (
        "discord",
        {
            "role": "https://discord.com/channels/70000/90000", "applied_tags": "10000, 10001",
            "sender_name": " Bee\n news ", "silent": "on",
        },
        {"role": "90000", "applied_tags": "10000 10001", "sender_name": "Bee news", "silent": "on"},
    ),
    ("mastodon", {}, {}),
    (
        "mastodon",
        {"visibility": "Unlisted", "language": "DE", "spoiler": " Bienen\n und "},
        {"visibility": "unlisted", "language": "de", "spoiler": "Bienen und"},
    ),
    (
        "bluesky",
        {"card": "no", "tags": "no", "thread": "yes", "content_label": "nudity", "language": "DE"},
        {"card": "no", "tags": "no", "thread": "yes", "content_label": "nudity", "language": "de"},
    ),
)  # fmt: skip


@pytest.fixture
def _accounts() -> None:
    for kind, name in (("telegram", "bees"), ("discord_bot", "hive")):
        secrets: Any = {"token": telegram.TOKEN}
        Account(kind=kind, name=name, secrets=secrets).save()


def rows(table: Mapping[str, Mapping[str, tuple[str, ...]]]) -> list[tuple[str, str, str]]:
    return [
        (key, name, value)
        for key, of_service in table.items()
        for name, values in of_service.items()
        for value in values
    ]


@pytest.mark.parametrize("key", GOOD)
@pytest.mark.usefixtures("_accounts")
@pytest.mark.django_db
def test_a_good_destination_is_taken(key: str) -> None:
    assert channels.get(key).parse_destination(GOOD[key]).core


@pytest.mark.parametrize(("key", "name", "value"), rows(WRONG))
@pytest.mark.usefixtures("_accounts")
@pytest.mark.django_db
def test_a_wrong_field_is_refused_by_its_name_and_no_secret_is_repeated(
    key: str, name: str, value: str
) -> None:
    with pytest.raises(InvalidDestination, match=f"{name}: ") as caught:
        channels.get(key).parse_destination({**GOOD[key], name: value})
    is_secret = any(field.secret for field in channels.get(key).destination_fields if field.name == name)
    for secret in (SECRET, discord.TOKEN, *([value] if is_secret and value else [])):
        assert secret not in str(caught.value)


@pytest.mark.parametrize(("key", "given", "name"), WRONG_TOGETHER)
@pytest.mark.usefixtures("_accounts")
@pytest.mark.django_db
def test_fields_that_do_not_go_together_are_refused(key: str, given: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidDestination, match=f"{name}: "):
        channels.get(key).parse_destination({**GOOD[key], **given})


@pytest.mark.parametrize(("key", "name", "value"), rows(WRONG_OPTIONS))
@pytest.mark.usefixtures("_accounts")
@pytest.mark.django_db
def test_a_wrong_option_is_refused_by_its_name(key: str, name: str, value: str) -> None:
    with pytest.raises(InvalidDestination, match=rf"{name}: |“{name}”"):
        channels.get(key).parse_options({name: value})


@pytest.mark.parametrize(("key", "given", "kept"), TIDY)
@pytest.mark.usefixtures("_accounts")
@pytest.mark.django_db
def test_options_are_kept_tidy(key: str, given: dict[str, str], kept: dict[str, str]) -> None:
    assert channels.get(key).parse_options(given) == kept


@pytest.mark.parametrize("kind", channels.bridge_kinds(), ids=lambda kind: kind.key)
@pytest.mark.usefixtures("_accounts")
@pytest.mark.django_db
def test_only_where_nobody_can_ask_an_option_says_what_happens_then(kind: Bridge) -> None:
    is_asked = "when_unsure" in {field.name for field in kind.option_fields}
    assert is_asked == (kind.crash_policy is CrashPolicy.HOLD)
    if is_asked:
        for choice in ({"when_unsure": "repeat"}, {"when_unsure": "skip"}):
            assert kind.parse_options(choice) == choice


@pytest.mark.parametrize(
    "said",
    [URL, "/services/T0000/B0000/very-secret-token", "no very-secret-token here", "key=another-secret"],
)
def test_no_part_of_it_is_shown(said: str) -> None:
    outcome = masked(Ambiguous(f"The server said: {said}"), secrets_in(URL))
    assert isinstance(outcome, Ambiguous)
    shown = outcome.text
    assert "secret" not in shown
    assert shown.startswith("The server said: ")


def test_words_that_are_no_secret_are_shown() -> None:
    said = "hooks.example knows no services"
    assert masked(Ambiguous(said), secrets_in(URL)) == Ambiguous(said)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://Hooks.Example:443/a/B?c=D", "https://hooks.example/a/B?c=D"),
        ("http://127.0.0.1:8065/hooks/x", "http://127.0.0.1:8065/hooks/x"),
    ],
)
def test_only_the_host_is_made_the_same(typed: str, kept: str) -> None:
    assert posting_url("hooks.example")(typed) == kept


@given(st.text(max_size=100))
def test_what_is_no_address_is_refused_without_repeating_it(typed: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"^this isn’t an address to post to\. Use an address like https://hooks\.example/\.$",
    ):
        posting_url("hooks.example")(f"ftp:{typed}")


def test_a_field_of_one_name_is_as_secret_with_every_channel() -> None:
    """Commands have one option for all of them, and prompt for the secret ones."""
    secrets: dict[str, bool] = {}
    for kind in channels.all_kinds():
        for field in kind.destination_fields:
            assert secrets.setdefault(field.name, field.secret) is field.secret, (kind.key, field.name)
