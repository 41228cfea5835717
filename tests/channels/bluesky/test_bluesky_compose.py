"""The text of a letter on Bluesky."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.announcement import EPOCH
from channels.base import Message
from channels.bluesky.message import Thread
from channels.letter import Letter
from feeds.parsing.entry import Media
from tests.channels.bluesky.bluesky_letters import CHANNEL, message, recipient
from tests.contracts.bridge import LINK, entry, letter
from tests.contracts.channel import NOW
from tests.servers.services.bluesky import PASSWORD, check_record

URL = "https://pds.example"
ARCHIVE = "https://l.example/7/"


def record(of: Message[Thread]) -> dict[str, Any]:
    assert of.refusal == ""
    return of.body.posts[0].record


def digest(count: int = 3, **fields: Any) -> Message[Thread]:
    entries = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(count))
    usual = {"entries": entries, "is_digest": True, "web_url": ARCHIVE}
    return message(URL, "T0, and 2 more", **{**usual, **fields})


def check(made: Message[Thread]) -> None:
    """Check all records. Raises Refused as a server would."""
    for post in made.body.posts:
        check_record(post.record, {})
        check_record(post.plain, {})


class TestWords:
    def test_a_post_has_a_card_and_no_address_in_its_words(self) -> None:
        made = record(message(URL, entries=(entry("Bees & wasps", summary="<p>They &lt;3 us.</p>"),)))
        assert made["text"] == "[bees] New Post: Bees & wasps, by Ada"
        assert "facets" not in made
        card = made["embed"]["external"]
        assert card == {"uri": LINK, "title": "Bees & wasps", "description": "They <3 us."}

    def test_without_a_card_the_address_is_in_the_words(self) -> None:
        made = record(message(URL, options={"card": "no"}))
        assert made["text"] == "[bees] New Post: A post, by Ada blog.example/posts/bees?a=1&b=2"
        assert made["facets"][0]["features"] == [{"$type": "app.bsky.richtext.facet#link", "uri": LINK}]
        assert "embed" not in made

    def test_a_post_without_a_title_is_named_by_its_newsletter(self) -> None:
        made = record(message(URL, ""))
        assert made["text"] == "[bees] New Untitled Post, by Ada"
        assert made["embed"]["external"]["title"] == "Bees"

    def test_a_digest_links_to_its_page(self) -> None:
        made = record(digest())
        assert made["text"] == "[bees] T0, and 2 more l.example/7"
        assert made["facets"][0]["features"][0]["uri"] == ARCHIVE
        assert "embed" not in made

    def test_own_words_need_no_address_beside_the_card(self) -> None:
        made = message(URL, text="Read this")
        assert record(made)["text"] == "Read this"
        assert made.body.posts[0].plain["text"] == "Read this blog.example/posts/bees?a=1&b=2"

    def test_own_words_keep_the_address_where_they_have_it(self) -> None:
        made = record(message(URL, text=f"Read {LINK}\nnow"))
        assert made["text"] == "Read blog.example/posts/bees?a=1&b=2\nnow"

    def test_a_hashtag_of_the_title_is_not_repeated_and_symbols_become_words(self) -> None:
        post = entry("About #Bees", categories=("bees", "C++", "C#", "#wax", "A+B"))
        made = record(message(URL, entries=(post,), options={"template": "{title} {hashtags}"}))
        assert made["text"] == "About #Bees #CPlusPlus #CSharp #wax #APlusB"

    def test_a_template_with_hashtags_shows_them_and_hides_none(self) -> None:
        post = entry("A post", categories=("bees", "urban planning"))
        made = record(message(URL, entries=(post,), options={"template": "{title} {hashtags}"}))
        assert made["text"] == "A post #bees #UrbanPlanning"
        assert [facet["features"][0]["tag"] for facet in made["facets"]] == ["bees", "UrbanPlanning"]
        assert "tags" not in made

    def test_where_the_template_does_not_fit_the_usual_words_are_said(self) -> None:
        made = record(digest(20, options={"template": "{posts}" + "x" * 200}))
        assert made["text"].startswith("[bees] T0, and 2 more")

    def test_a_template_that_says_nothing_posts_nothing(self) -> None:
        options = {"template": "{title}", "card": "no"}
        assert message(URL, "", options=options).refusal == "There is no text to post."

    def test_a_link_that_is_too_long_is_refused(self) -> None:
        assert "longer" in message(URL, entries=(entry(link=f"{LINK}{'x' * 8_000}"),)).refusal


class TestRecord:
    def test_its_time_is_the_letters(self) -> None:
        assert record(message(URL))["createdAt"] == "2026-03-04T05:06:07.000Z"
        assert message(URL).body.at == NOW
        assert message(URL, at=None).body.at == EPOCH

    def test_categories_are_tags_that_are_not_shown(self) -> None:
        post = entry("On #bees", categories=("Bees", "wasps"))
        assert record(message(URL, entries=(post,)))["tags"] == ["wasps"]
        assert "tags" not in record(message(URL, entries=(post,), options={"tags": "no"}))

    def test_a_language_is_named_without_its_country(self) -> None:
        assert record(message(URL, language="en-US"))["langs"] == ["en"]
        assert "langs" not in record(message(URL))

    def test_a_content_warning_is_a_label_of_each_post(self) -> None:
        made = digest(options={"content_label": "nudity", "thread": "yes"})
        assert {post.record["labels"]["values"][0]["val"] for post in made.body.posts} == {"nudity"}

    def test_the_first_picture_is_the_cards(self) -> None:
        media = tuple(Media(f"https://x.example/{name}.png", "image/png") for name in "ab")
        assert message(URL, entries=(entry(media=media),)).body.posts[0].picture == "https://x.example/a.png"

    def test_no_password_is_shown(self) -> None:
        assert PASSWORD not in repr(message(URL))


class TestThread:
    def test_each_post_of_a_digest_answers_the_one_before(self) -> None:
        made = digest(options={"thread": "yes"})
        assert [post.record["text"] for post in made.body.posts[1:]] == [
            f"T{n}\nblog.example/{n}" for n in range(3)
        ]
        times = [post.record["createdAt"] for post in made.body.posts]
        assert times == sorted(set(times))
        check(made)

    def test_a_thread_ends_after_twenty_answers(self) -> None:
        assert len(digest(40, options={"thread": "yes"}).body.posts) == 21

    def test_a_post_alone_has_no_thread(self) -> None:
        assert len(message(URL, options={"thread": "yes"}).body.posts) == 1


texts = st.text(max_size=600)
options = st.fixed_dictionaries(
    {},
    optional={
        "card": st.just("no"),
        "thread": st.just("yes"),
        "template": st.sampled_from(["{title} {link} {hashtags}", "{summary} {posts}", "{titles|x} {link}"]),
    },
)


@given(texts, texts, texts, texts, st.lists(texts, max_size=3), options, st.booleans(), texts)
def test_whatever_a_post_says_a_server_takes_it(
    title: str,
    summary: str,
    author: str,
    path: str,
    categories: list[str],
    chosen: dict[str, str],
    is_digest: bool,
    own: str,
) -> None:
    link = f"https://blog.example/{path}"
    posts = (entry(title, link=link, summary=summary, authors=(author,), categories=tuple(categories)),)
    said: Letter = letter(
        title, entries=posts, options=chosen, is_digest=is_digest, web_url=ARCHIVE, text=own
    )
    made = CHANNEL.composer(said)(recipient(URL))
    if made.refusal:
        assert made.refusal == "There is no text to post."
    else:
        check(made)


@pytest.mark.parametrize("space", ["\ufeff", "\u00a0", "\x85", "\u2003", "\x1c"])
def test_no_white_space_of_any_language_is_in_a_link(space: str) -> None:
    check(message(URL, entries=(entry(link=f"https://e.example/a{space}b"),)))
