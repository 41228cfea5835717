"""Pictures on Mastodon: described, uploaded once, and never an obstacle to the post."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from channels.base import NOTHING, Ambiguous, Message, Sent, Temporary
from channels.http.uploads import MOST_LOOKS
from channels.mastodon.message import Status
from channels.pictures import forget_pictures
from feeds.parsing.entry import Media
from tests.channels.mastodon.letters import TOO_MANY, Tooting, letter
from tests.contracts.bridge import entry, expect
from tests.contracts.channel import NOW
from tests.examples import some_now
from tests.servers.mastodon_instance import Reply
from tests.servers.picture_host import PictureHost, noise

pytestmark = pytest.mark.usefixtures("loopback_allowed")


@pytest.fixture
def host() -> Iterator[PictureHost]:
    forget_pictures()
    with PictureHost() as server:
        yield server


class Picturing(Tooting):
    @pytest.fixture(autouse=True)
    def _host(self, host: PictureHost, _servers: None) -> None:
        self.host, self.service.scopes = host, ["read", "write"]

    def pictured(self, count: int = 1, **options: Any) -> Message[Status]:
        """Return a post with so many pictures, all of which the host has."""
        media = tuple(
            Media(
                self.host.drawn(f"/{number}.png", size=(50 + number, 40)).url,
                "image/png",
                alt=f"Bee {number}",
            )
            for number in range(count)
        )
        made: Message[Status] = self.composed(letter(entries=(entry(media=media),)), **options)
        return made

    @property
    def pictures(self) -> list[str]:
        """Return the descriptions of the pictures of the only status."""
        [status] = self.service.statuses
        return [medium["description"] for medium in status["media_attachments"]]


class TestWhich(Picturing):
    def test_the_first_is_posted_with_its_words(self) -> None:
        assert isinstance(self.post(self.pictured(3)), Sent)
        assert self.pictures == ["Bee 0"]

    @pytest.mark.parametrize(("images", "count"), some_now([("0", 0), ("2", 2), ("4", 4)]))
    def test_an_option_says_how_many(self, images: str, count: int) -> None:
        assert isinstance(self.post(self.pictured(6, images=images)), Sent)
        assert self.pictures == [f"Bee {number}" for number in range(count)]
        assert len(self.service.media) == count

    def test_one_that_cannot_be_had_leaves_the_others(self) -> None:
        what = self.pictured(3, images="3")
        self.host.paths["/1.png"] = Reply(404)
        assert isinstance(self.post(what), Sent)
        assert self.pictures == ["Bee 0", "Bee 2"]

    def test_words_are_as_long_as_the_instance_takes(self) -> None:
        self.service.description_limit = 30
        media = (Media(self.host.drawn().url, "image/png", alt="Many words of a picture with bees"),)
        what = letter(entries=(entry("T", media=media),))
        assert isinstance(self.post(what), Sent)
        assert self.pictures == ["Many words of a picture with…"]

    def test_a_picture_is_as_large_as_the_instance_takes(self) -> None:
        self.service.image_matrix_limit, self.service.image_size_limit = 250_000, 20_000
        media = (Media(self.host.has(noise(900, 900)).url, "image/jpeg"),)
        what = letter(entries=(entry("T", media=media),))
        assert isinstance(self.post(what), Sent)
        assert len(self.pictures) == 1

    def test_nothing_is_fetched_before_it_is_sent(self) -> None:
        self.pictured()
        assert self.host.requests == self.service.requests == []

    def test_several_accounts_share_what_was_fetched(self) -> None:
        what = self.pictured()
        for key in ("a", "b", "c"):
            assert isinstance(self.post(what, key=key), Sent)
        assert self.host.hits("/0.png") == 1


class TestFailures(Picturing):
    @pytest.mark.parametrize(
        "reply",
        some_now([
            Reply(401, {"error": "no"}), Reply(403, {"error": "outside the authorized scopes"}), Reply(404),
            Reply(413, "<html>too large</html>"), Reply(422, {"error": "no"}), TOO_MANY, Reply(500),
            Reply(503), Reply(200, {}), Reply(200, "<html>"), Reply(302, headers={"Location": "http://x.example/"}),
            Reply(hangs_up=True), Reply(body=b"x" * 3_000_000),
        ]),
    )  # fmt: skip
    def test_an_upload_that_fails_leaves_the_post_without(self, reply: Reply) -> None:
        self.service.paths["/api/v2/media"] = reply
        assert isinstance(self.post(self.pictured(2, images="2")), Sent)
        assert self.pictures == []

    def test_a_token_that_may_not_upload_posts_without(self) -> None:
        self.service.scopes = ["read", "write:statuses"]
        assert isinstance(self.post(self.pictured()), Sent)
        assert self.pictures == []

    def test_a_status_that_is_refused_with_its_picture_goes_without(self) -> None:
        assert isinstance(self.post(self.pictured(), progress={"media": {"999": True}}), Sent)
        assert self.pictures == []
        assert len(self.service.asked("/api/v1/statuses")) == 2

    def test_one_that_was_called_ready_too_early_is_left_out(self) -> None:
        self.service.media_looks = 3
        self.service.paths["/api/v2/media"] = Reply(200, {"id": "2000"}, takes=True)
        assert isinstance(self.post(self.pictured()), Sent)
        assert self.pictures == []
        assert len(self.service.asked("/api/v1/statuses")) == 2

    def test_a_page_for_a_picture_is_no_picture(self) -> None:
        what = self.pictured()
        self.host.has(b"<svg/>", "/0.png")
        assert isinstance(self.post(what), Sent)
        assert self.service.asked("/api/v2/media") == []


class TestPreparing(Picturing):
    """202, then 206 until it is ready."""

    def test_a_post_waits_for_its_picture_and_uploads_it_once(self) -> None:
        self.service.media_looks = 2
        what, progress, now = self.pictured(), dict(NOTHING), NOW
        for seconds in (5, 10, 15, 20):
            outcome = self.post(what, progress=progress, now=now)
            if isinstance(outcome, Sent):
                break
            assert isinstance(outcome, Temporary)
            assert outcome.waits
            assert not outcome.stops_lane
            assert outcome.retry_at == now + timedelta(seconds=seconds)
            assert outcome.progress
            progress, now = dict(outcome.progress), outcome.retry_at
        assert isinstance(outcome, Sent)
        assert self.pictures == ["Bee 0"]
        assert len(self.service.asked("/api/v2/media")) == 1

    @pytest.mark.parametrize("looks", [-1, 10**6])
    def test_one_that_never_gets_ready_is_left_out(self, looks: int) -> None:
        self.service.media_looks = looks
        what, progress = self.pictured(), dict(NOTHING)
        for _ in range(MOST_LOOKS + 1):
            outcome = self.post(what, progress=progress)
            if isinstance(outcome, Sent):
                break
            assert isinstance(outcome, Temporary)
            progress = dict(outcome.progress or {})
        assert isinstance(outcome, Sent)
        assert self.pictures == []

    def test_one_that_is_gone_meanwhile_is_left_out(self) -> None:
        assert isinstance(self.post(self.pictured(), progress={"media": {"999": False}, "looks": 1}), Sent)
        assert self.pictures == []

    def test_a_post_that_has_to_wait_keeps_what_it_uploaded(self) -> None:
        what, self.service.says = self.pictured(), TOO_MANY
        outcome = expect(self.post(what), Temporary, waits=False)
        self.service.says = None
        assert isinstance(self.post(what, progress=outcome.progress or {}), Sent)
        assert self.pictures == ["Bee 0"]
        assert len(self.service.asked("/api/v2/media")) == 1


class TestCrashes(Picturing):
    """A process ends between the upload and the post: only the beginning was recorded."""

    @pytest.mark.parametrize("minutes", [1, 90])
    def test_after_the_upload_it_is_posted_once(self, minutes: int) -> None:
        what = self.pictured()
        self.service.says = Reply(503)
        self.post(what)
        self.service.says = None
        assert isinstance(self.post(what, begun_at=NOW - timedelta(minutes=minutes)), Sent)
        assert self.pictures == ["Bee 0"]

    @pytest.mark.parametrize("minutes", [1, 90])
    def test_after_the_post_it_is_not_posted_again(self, minutes: int) -> None:
        what, self.service.says = self.pictured(), Reply(takes=True, hangs_up=True)
        lost = expect(self.post(what), Ambiguous)
        self.service.says = None
        for progress in (NOTHING, lost.progress or {}):
            expect(
                self.post(what, begun_at=NOW - timedelta(minutes=minutes), progress=progress),
                Sent,
                remote_id="1000",
            )
        assert self.pictures == ["Bee 0"]


class TestSensitive(Picturing):
    def test_sensitive_pictures_are_posted_as_such(self) -> None:
        picture = Media(self.host.drawn("/1.png", size=(50, 40)).url, "image/png")
        post = entry("", content="<p>x</p>", media=(picture,), sensitive=True, warning="Bees")
        expect(self.post(letter(entries=(post,))), Sent)
        [request] = self.service.asked("/api/v1/statuses")
        assert (request.form["sensitive"], request.form["spoiler_text"]) == ("1", "Bees")
        assert len(self.pictures) == 1
