"""Pictures on Mastodon: described, uploaded once, and never an obstacle to the post."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from channels.base import NOTHING, Ambiguous, Message, Outcome, Sent, Temporary
from channels.http.uploads import MOST_LOOKS
from channels.mastodon.message import Status
from channels.pictures import forget_pictures
from feeds.parsing.entry import Entry, Media
from tests.channels.mastodon.letters import LINK, TOO_MANY, message, session
from tests.contracts.channel import NOW
from tests.examples import some_now
from tests.servers.mastodon_instance import MastodonInstance, Reply
from tests.servers.picture_host import PictureHost, noise

pytestmark = pytest.mark.usefixtures("loopback_allowed")


@pytest.fixture
def instance() -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        server.scopes = ["read", "write"]
        yield server


@pytest.fixture
def host() -> Iterator[PictureHost]:
    forget_pictures()
    with PictureHost() as server:
        yield server


def post(instance: MastodonInstance, host: PictureHost, count: int = 1, **options: str) -> Message[Status]:
    """Return a post with so many pictures, all of which the host has."""
    media = tuple(
        Media(host.drawn(f"/{number}.png", size=(50 + number, 40)).url, "image/png", alt=f"Bee {number}")
        for number in range(count)
    )
    entry = Entry(guid="1", title="A post", link=LINK, media=media)
    return message(instance.url, entries=(entry,), options=options)


def send(
    what: Message[Status], *, key: str = "key-1", progress: Mapping[str, Any] = NOTHING, **given: Any
) -> Outcome:
    opened = session()
    try:
        return opened.send(what, **{"key": key, "begun_at": None, "now": NOW, "progress": progress, **given})
    finally:
        opened.close()


def pictures(instance: MastodonInstance) -> list[str]:
    """Return the descriptions of the pictures of the only status."""
    [status] = instance.statuses
    return [medium["description"] for medium in status["media_attachments"]]


class TestWhich:
    def test_the_first_is_posted_with_its_words(self, instance: MastodonInstance, host: PictureHost) -> None:
        assert isinstance(send(post(instance, host, 3)), Sent)
        assert pictures(instance) == ["Bee 0"]

    @pytest.mark.parametrize(("images", "count"), some_now([("0", 0), ("2", 2), ("4", 4)]))
    def test_an_option_says_how_many(
        self, instance: MastodonInstance, host: PictureHost, images: str, count: int
    ) -> None:
        assert isinstance(send(post(instance, host, 6, images=images)), Sent)
        assert pictures(instance) == [f"Bee {number}" for number in range(count)]
        assert len(instance.media) == count

    def test_one_that_cannot_be_had_leaves_the_others(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        what = post(instance, host, 3, images="3")
        host.paths["/1.png"] = Reply(404)
        assert isinstance(send(what), Sent)
        assert pictures(instance) == ["Bee 0", "Bee 2"]

    def test_words_are_as_long_as_the_instance_takes(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        instance.description_limit = 30
        media = (Media(host.drawn().url, "image/png", alt="Many words of a picture with bees"),)
        what = message(instance.url, entries=(Entry(guid="1", title="T", link=LINK, media=media),))
        assert isinstance(send(what), Sent)
        assert pictures(instance) == ["Many words of a picture with…"]

    def test_a_picture_is_as_large_as_the_instance_takes(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        instance.image_matrix_limit, instance.image_size_limit = 250_000, 20_000
        media = (Media(host.has(noise(900, 900)).url, "image/jpeg"),)
        what = message(instance.url, entries=(Entry(guid="1", title="T", link=LINK, media=media),))
        assert isinstance(send(what), Sent)
        assert len(pictures(instance)) == 1

    def test_nothing_is_fetched_before_it_is_sent(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        post(instance, host)
        assert host.requests == instance.requests == []

    def test_several_accounts_share_what_was_fetched(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        what = post(instance, host)
        for key in ("a", "b", "c"):
            assert isinstance(send(what, key=key), Sent)
        assert host.hits("/0.png") == 1


class TestFailures:
    @pytest.mark.parametrize(
        "reply",
        some_now([
            Reply(401, {"error": "no"}), Reply(403, {"error": "outside the authorized scopes"}), Reply(404),
            Reply(413, "<html>too large</html>"), Reply(422, {"error": "no"}), TOO_MANY, Reply(500),
            Reply(503), Reply(200, {}), Reply(200, "<html>"), Reply(302, headers={"Location": "http://x.example/"}),
            Reply(hangs_up=True), Reply(body=b"x" * 3_000_000),
        ]),
    )  # fmt: skip
    def test_an_upload_that_fails_leaves_the_post_without(
        self, instance: MastodonInstance, host: PictureHost, reply: Reply
    ) -> None:
        instance.paths["/api/v2/media"] = reply
        assert isinstance(send(post(instance, host, 2, images="2")), Sent)
        assert pictures(instance) == []

    def test_a_token_that_may_not_upload_posts_without(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        instance.scopes = ["read", "write:statuses"]
        assert isinstance(send(post(instance, host)), Sent)
        assert pictures(instance) == []

    def test_a_status_that_is_refused_with_its_picture_goes_without(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        assert isinstance(send(post(instance, host), progress={"media": {"999": True}}), Sent)
        assert pictures(instance) == []
        assert len(instance.asked("/api/v1/statuses")) == 2

    def test_one_that_was_called_ready_too_early_is_left_out(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        instance.media_looks = 3
        instance.paths["/api/v2/media"] = Reply(200, {"id": "2000"}, takes=True)
        assert isinstance(send(post(instance, host)), Sent)
        assert pictures(instance) == []
        assert len(instance.asked("/api/v1/statuses")) == 2

    def test_a_page_for_a_picture_is_no_picture(self, instance: MastodonInstance, host: PictureHost) -> None:
        what = post(instance, host)
        host.has(b"<svg/>", "/0.png")
        assert isinstance(send(what), Sent)
        assert instance.asked("/api/v2/media") == []


class TestPreparing:
    """202, then 206 until it is ready."""

    def test_a_post_waits_for_its_picture_and_uploads_it_once(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        instance.media_looks = 2
        what, progress, now = post(instance, host), dict(NOTHING), NOW
        for seconds in (5, 10, 15, 20):
            outcome = send(what, progress=progress, now=now)
            if isinstance(outcome, Sent):
                break
            assert isinstance(outcome, Temporary)
            assert outcome.waits
            assert not outcome.stops_lane
            assert outcome.retry_at == now + timedelta(seconds=seconds)
            assert outcome.progress
            progress, now = dict(outcome.progress), outcome.retry_at
        assert isinstance(outcome, Sent)
        assert pictures(instance) == ["Bee 0"]
        assert len(instance.asked("/api/v2/media")) == 1

    @pytest.mark.parametrize("looks", [-1, 10**6])
    def test_one_that_never_gets_ready_is_left_out(
        self, instance: MastodonInstance, host: PictureHost, looks: int
    ) -> None:
        instance.media_looks = looks
        what, progress = post(instance, host), dict(NOTHING)
        for _ in range(MOST_LOOKS + 1):
            outcome = send(what, progress=progress)
            if isinstance(outcome, Sent):
                break
            assert isinstance(outcome, Temporary)
            progress = dict(outcome.progress or {})
        assert isinstance(outcome, Sent)
        assert pictures(instance) == []

    def test_one_that_is_gone_meanwhile_is_left_out(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        assert isinstance(send(post(instance, host), progress={"media": {"999": False}, "looks": 1}), Sent)
        assert pictures(instance) == []

    def test_a_post_that_has_to_wait_keeps_what_it_uploaded(
        self, instance: MastodonInstance, host: PictureHost
    ) -> None:
        what, instance.says = post(instance, host), TOO_MANY
        outcome = send(what)
        assert isinstance(outcome, Temporary)
        assert not outcome.waits
        instance.says = None
        assert isinstance(send(what, progress=outcome.progress or {}), Sent)
        assert pictures(instance) == ["Bee 0"]
        assert len(instance.asked("/api/v2/media")) == 1


class TestCrashes:
    """A process ends between the upload and the post: only the beginning was recorded."""

    @pytest.mark.parametrize("minutes", [1, 90])
    def test_after_the_upload_it_is_posted_once(
        self, instance: MastodonInstance, host: PictureHost, minutes: int
    ) -> None:
        what = post(instance, host)
        instance.says = Reply(503)
        send(what)
        instance.says = None
        assert isinstance(send(what, begun_at=NOW - timedelta(minutes=minutes)), Sent)
        assert pictures(instance) == ["Bee 0"]

    @pytest.mark.parametrize("minutes", [1, 90])
    def test_after_the_post_it_is_not_posted_again(
        self, instance: MastodonInstance, host: PictureHost, minutes: int
    ) -> None:
        what, instance.says = post(instance, host), Reply(takes=True, hangs_up=True)
        lost = send(what)
        assert isinstance(lost, Ambiguous)
        instance.says = None
        for progress in (NOTHING, lost.progress or {}):
            outcome = send(what, begun_at=NOW - timedelta(minutes=minutes), progress=progress)
            assert isinstance(outcome, Sent)
            assert outcome.remote_id == "1000"
        assert pictures(instance) == ["Bee 0"]


def test_sensitive_pictures_are_posted_as_such(instance: MastodonInstance, host: PictureHost) -> None:
    picture = Media(host.drawn("/1.png", size=(50, 40)).url, "image/png")
    entry = Entry(guid="1", link=LINK, content="<p>x</p>", media=(picture,), sensitive=True, warning="Bees")
    assert isinstance(send(message(instance.url, entries=(entry,))), Sent)
    [request] = instance.asked("/api/v1/statuses")
    assert (request.form["sensitive"], request.form["spoiler_text"]) == ("1", "Bees")
    assert len(pictures(instance)) == 1
