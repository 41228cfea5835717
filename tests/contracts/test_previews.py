"""Every bridge previews its posts, by the service's own length."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels import channel
from channels.base import Looks, Previews, Shape
from channels.letter import Letter, Recipient
from common.ports import channels
from common.ports.channels import ChannelSpec
from feeds.parsing.entry import Media
from tests.contracts.bridge import LINK, MARKUP, entry, letter
from tests.examples import examples

KINDS = channels.bridge_kinds()
SECRET = "very-s3cret-word"
SECRETS = {
    "webhook_url": f"https://hooks.example/services/{SECRET}",
    "apprise_url": f"ntfys://{SECRET}@ntfy.example/bees",
    **dict.fromkeys(
        ("access_token", "api_key", "app_password", "token", "password", "signing_secret"), SECRET
    ),
}
PICTURE = Media(url="https://blog.example/bee.jpg", type="image/jpeg", alt="A bee")
ALL_OPTIONS = {"images": "4", "hashtags": "on", "summary": "on", "photo": "on", "thread": "on"}
MARKS = ("bee.jpg", "wasp.jpg", "UrbanBees", "They dance.", "Stings ahead", "Post 2", "Ada")


def looks(kind: str, shown: Letter, **options: str) -> Looks:
    ours = channel(kind)
    assert isinstance(ours, Previews)
    to = Recipient(1, "a/b", "bot", secrets=SECRETS)
    return ours.preview(ours.compose(replace(shown, options=options), to))


def every_word(of: Looks) -> str:
    return json.dumps(asdict(of), ensure_ascii=False)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.key)
def kind(request: pytest.FixtureRequest) -> str:
    chosen: ChannelSpec = request.param
    return chosen.key


def test_it_shows_the_title_and_no_secret(kind: str) -> None:
    found = looks(kind, letter("Dancing bees"))
    assert "Dancing bees" in every_word(found)
    assert SECRET not in every_word(found)
    assert found.refusal == ""


def test_what_is_long_is_shown_as_it_is_cut(kind: str) -> None:
    long = letter(entries=(entry("Bees " * 3_000, summary="They dance. " * 3_000, media=(PICTURE,)),))
    found = looks(kind, long)
    assert found.length <= found.limit or not found.limit
    assert len(found.text) < 13_000


@pytest.mark.parametrize(
    "options", [{}, ALL_OPTIONS, {**ALL_OPTIONS, "image": "small"}], ids=["", "all", "small"]
)
@pytest.mark.parametrize("of", ["a post", "a sensitive post", "a digest"])
def test_whatever_is_sent_is_shown(kind: str, of: str, options: dict[str, str]) -> None:
    """Pictures, hashtags, warnings, authors and the posts of a thread."""
    media = (PICTURE, Media(url="https://blog.example/wasp.jpg", type="image/jpeg"))
    more: dict[str, Any] = {"media": media, "categories": ("urban bees",), "summary": "They dance."}
    if of == "a sensitive post":
        more |= {"sensitive": True, "warning": "Stings ahead"}
    shown = letter(entries=(entry("Bees", **more),))
    if of == "a digest":
        posts = tuple(entry(f"Post {number}", link=f"{LINK}&n={number}") for number in range(3))
        shown = letter("Three posts", entries=posts, is_digest=True, web_url="https://l.example/3")
    ours = channel(kind)
    assert isinstance(ours, Previews)
    message = ours.compose(replace(shown, options=options), Recipient(1, "a/b", "bot", secrets=SECRETS))
    sent, seen = str(message), every_word(ours.preview(message))
    assert [mark for mark in MARKS if mark in sent and mark not in seen] == []


@pytest.mark.parametrize("key", ["mastodon", "bluesky", "discord", "telegram", "slack", "ntfy", "gotify"])
def test_the_picture_is_shown(key: str) -> None:
    shown = letter(entries=(entry("Bees", media=(PICTURE,)),))
    assert PICTURE.url in every_word(looks(key, shown, photo="on"))


@pytest.mark.parametrize("key", ["ntfy", "gotify"])
def test_a_push_says_where_it_leads(key: str) -> None:
    assert LINK in every_word(looks(key, letter("Bees")))


def test_a_forums_thread_is_shown_with_its_name() -> None:
    found = looks("discord", letter("Bees"), thread_name="About {title}")
    assert found.title == "About Bees"


def test_a_digest_is_shown(kind: str) -> None:
    posts = tuple(entry(f"Post {number}", link=f"{LINK}&n={number}") for number in range(3))
    digest = letter("Three posts", entries=posts, is_digest=True, web_url="https://l.example/3")
    assert "Three posts" in every_word(looks(kind, digest))


def test_where_nothing_is_posted_it_says_why(kind: str) -> None:
    assert "link" in looks(kind, letter("", entries=(entry("", link=""),))).refusal


def test_a_post_without_a_link_is_shown_with_its_text(kind: str) -> None:
    found = looks(kind, letter(entries=(entry("Bees", link="", summary="They dance."),)))
    assert found.refusal == ""
    assert "They dance." in every_word(found)


@pytest.mark.parametrize("key", ["slack", "mattermost", "rocketchat", "matrix", "ntfy", "apprise", "zulip"])
@settings(max_examples=examples(40))
@given(title=st.text(max_size=400), template=st.sampled_from(["", "{title} {link}", "{summary}\n{link}"]))
def test_the_length_is_that_of_what_goes_out(key: str, title: str, template: str) -> None:
    options = {"template": template} if template else {}
    found = looks(key, letter(title, entries=(entry(title),)), **options)
    assert found.refusal or 0 < found.length <= found.limit


def test_markup_of_a_post_is_shown_as_words() -> None:
    for key in ("slack", "mattermost", "rocketchat", "matrix", "ntfy", "zulip"):
        assert "<b>g</b>" in looks(key, letter(MARKUP)).text, key


def test_bluesky_has_a_card_and_the_limit_that_is_nearer() -> None:
    shown = letter(entries=(entry("Bees", summary="They dance.", media=(PICTURE,)),))
    found = looks("bluesky", shown)
    assert found.card is not None
    assert (found.card.title, found.card.text, found.card.source) == ("Bees", "They dance.", "blog.example")
    assert found.card.picture == PICTURE.url
    assert (found.limit, found.unit) == (300, "")
    # A family of four is one character of 25 octets.
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}\u200d\N{BOY}"
    many = looks("bluesky", letter(family * 110), card="no")
    assert (many.limit, many.unit) == (3_000, "bytes")
    assert looks("bluesky", shown, card="no").card is None


def test_blueskys_thread_is_shown_in_full() -> None:
    posts = tuple(entry(f"Post {number}") for number in range(3))
    digest = letter("Three", entries=posts, is_digest=True, web_url="https://l.example/3")
    found = looks("bluesky", digest, thread="on")
    assert [answer.partition("\n")[0] for answer in found.answers] == ["Post 0", "Post 1", "Post 2"]


def test_slack_shows_the_picture_that_it_is_sent_and_the_others_none() -> None:
    shown = letter(entries=(entry("Bees", media=(PICTURE,)),))
    assert looks("slack", shown).pictures == (PICTURE.url,)
    assert looks("slack", shown, picture="no").pictures == ()
    assert looks("mattermost", shown).pictures == ()


def test_ntfy_is_a_push_with_a_title() -> None:
    found = looks("ntfy", letter(entries=(entry("Žluť", media=(PICTURE,)),)))
    assert (found.shape, found.title, found.pictures) == (Shape.PUSH, "Bees", (PICTURE.url,))
    assert (found.length, found.limit) == (len(found.text.encode()), 4_096)


def test_a_webhook_is_its_json() -> None:
    found = looks("webhook", letter("Bees"))
    said: Any = json.loads(found.text)
    assert found.shape is Shape.CODE
    assert (said["type"], said["data"]["posts"][0]["title"]) == ("post.published", "Bees")
    assert found.limit == 20_000
    assert looks("webhook", letter("Bees"), content="html").limit == 1_000_000
