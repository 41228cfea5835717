"""The Mastodon channel against a fake instance: the contract, and its requests.

The Mastodon channel's interface: destination, options and check.
Pictures on Mastodon: described, uploaded once, and never an obstacle to the post.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from channels.base import NOTHING, Ambiguous, Message, Permanent, Sent, Temporary
from channels.mastodon.message import Instance, Status, instances
from channels.mastodon.uploads import MOST_LOOKS
from channels.pictures import forget_pictures
from common.ports.channels import InvalidDestination, ParsedDestination
from feeds.parsing.entry import Media
from tests.channels.mastodon.letters import (
    CHANNEL,
    FIELDS,
    STATUSES,
    TOO_MANY,
    Tooting,
    letter,
    message,
    recipient,
)
from tests.contracts.bridge import IMPATIENT, LINK, PATIENT, BridgeContract, closed_port, entry, expect
from tests.contracts.channel import NOW, Arrival
from tests.examples import some_now
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply
from tests.servers.picture_host import PictureHost, noise

LONG = "Wörter " * 200
V1, V2 = "/api/v1/instance", "/api/v2/instance"


class TestMastodonContract(Tooting, BridgeContract):
    refused = Reply(422, {"error": "Validation failed: Text can't be blank"})
    unauthorised = Reply(401, {"error": "The access token was revoked"})
    gone = None
    secrets = (TOKEN,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(status["id"], status["text"]) for status in self.service.statuses]

    def acceptable(self, arrival: Arrival) -> bool:
        return self.service.length(arrival.text) <= self.service.characters and LINK in arrival.text

    def is_harmless(self, text: str) -> bool:
        return re.search(r"(?<![\w/=])@\w", text) is None


class TestLimits(Tooting):
    def test_the_instances_own_limit_counts(self) -> None:
        self.service.characters = 120
        expect(self.toot("Wörter und mehr " * 50), Sent)
        [status] = self.service.statuses
        assert self.service.length(status["text"]) <= 120
        assert status["text"].endswith(f"…, by Ada {LINK}")

    def test_a_content_warning_takes_its_part(self) -> None:
        expect(self.toot(LONG, options={"spoiler": "w" * 100}), Sent)

    def test_limits_are_asked_once_a_day(self) -> None:
        opened = self.session()
        for key in ("a", "b", "c"):
            expect(self.post(on=opened, key=key), Sent)
        assert len(self.service.asked(V2)) == 1

    def test_a_refusal_reads_the_limits_anew(self) -> None:
        self.known = instances()
        self.known.get(self.url, Instance)
        self.service.characters = 300
        expect(self.toot(LONG), Permanent)
        expect(self.toot(LONG), Sent)

    def test_an_instance_without_v2_is_asked_by_v1(self) -> None:
        self.service.paths[V2] = Reply(404)
        self.service.paths[V1] = Reply(body={"version": "3.5", "max_toot_chars": 200})
        expect(self.toot(LONG), Sent)
        assert 150 < self.service.length(self.service.statuses[0]["text"]) <= 200

    @pytest.mark.parametrize(
        "replies",
        [
            {V2: Reply(404), V1: Reply(404)},
            {V2: Reply(body={"configuration": "no"})},
            {V2: Reply(body={"configuration": {"statuses": {"max_characters": -1}}})},
            {V2: Reply(body=[])},
        ],
    )
    def test_a_server_that_tells_no_limits_gets_the_usual_ones(self, replies: dict[str, Reply]) -> None:
        self.service.paths |= replies
        expect(self.toot(LONG), Sent)

    def test_a_page_instead_of_limits_is_no_time_to_post(self) -> None:
        self.service.paths[V2] = Reply(body="<html>")
        expect(self.toot(), Temporary)
        assert self.service.statuses == []


class TestRequest(Tooting):
    def test_options_reach_the_instance(self) -> None:
        self.post(visibility="unlisted", language="de", spoiler="Bienen")
        [request] = self.service.asked(STATUSES)
        form: Any = request.form
        assert (form["visibility"], form["language"]) == ("unlisted", "de")
        assert form["spoiler_text"] == "Bienen"
        assert request.headers["idempotency-key"] == "key-1"
        assert request.headers["authorization"] == f"Bearer {TOKEN}"

    def test_one_session_serves_several_accounts(self) -> None:
        opened = self.session()
        with MastodonInstance() as other:
            for url in (self.url, other.url):
                expect(self.post(self.composed(to=recipient(url)), on=opened), Sent)
            assert len(self.service.statuses) == len(other.statuses) == 1


def parsed(**data: str) -> ParsedDestination:
    return CHANNEL.parse_destination({**FIELDS, **data})


class TestDestination:
    @pytest.mark.parametrize(
        "typed",
        ["https://fake.example", "fake.example", " HTTPS://Fake.Example:443/ ", "https://fake.example."],
    )
    def test_spellings_of_an_instance_are_one(self, typed: str) -> None:
        made = parsed(instance_url=typed, account="@Bot ")
        assert made.core == "bot@fake.example"
        assert made.config == {"account": "bot", "instance_url": "https://fake.example"}
        assert made.secrets == {"access_token": TOKEN}
        assert made.label == "bot at fake.example"

    def test_two_names_on_an_instance_are_two_accounts(self) -> None:
        assert parsed(account="news").core != parsed(account="bot").core

    @pytest.mark.parametrize(
        ("typed", "url"),
        [
            ("bücher.example", "https://xn--bcher-kva.example"),
            ("https://fake.example:8443", "https://fake.example:8443"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("http://localhost:3000/", "http://localhost:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
        ],
    )
    def test_an_instance_is_named_by_its_origin(self, typed: str, url: str) -> None:
        assert parsed(instance_url=typed).config["instance_url"] == url

    def test_the_lane_is_the_account_and_the_domain_its_host(self) -> None:
        assert CHANNEL.lane_account("bot@fake.example:8443", {}) == "bot@fake.example:8443"
        assert CHANNEL.domain("bot@fake.example:8443") == "fake.example"
        assert CHANNEL.domain("bot@[::1]:3000") == "::1"


class TestOptions:
    def test_a_bridge_posts_publicly_unless_told_otherwise(self) -> None:
        assert CHANNEL.parse_options({}) == {}
        assert message().body.visibility == "public"


class TestCheck(Tooting):
    @pytest.mark.parametrize(
        ("is_before_43", "scopes"),
        [
            (False, ["read", "write:statuses"]),
            (False, None),
            (False, ["read", "write"]),
            (False, ["profile", "read:statuses", "write:statuses"]),
            # It tells no scopes to tokens that may not read everything.
            (True, ["read:accounts", "read:statuses", "write:statuses"]),
        ],
    )
    def test_a_good_token_names_its_account(self, is_before_43: bool, scopes: list[str] | None) -> None:
        self.service.is_before_43, self.service.scopes = is_before_43, scopes
        assert self.check().config["account_id"] == "109"

    @pytest.mark.parametrize(
        ("scopes", "missing"), [(["read"], "post"), (["profile", "write"], "read its own posts")]
    )
    def test_a_token_that_may_not_post_or_read_is_refused_when_saved(
        self, scopes: list[str], missing: str
    ) -> None:
        self.service.scopes = scopes
        self.refuse_check(f"access_token: it isn’t allowed to {missing}")

    def test_a_bad_token_is_refused_with_the_way_to_a_good_one(self) -> None:
        assert "wrong-one" not in self.refuse_check(r"access_token: .* Development", access_token="wrong-one")

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            (Reply(404, "<html>no</html>"), "doesn’t look like a Mastodon instance"),
            (Reply(200, "<html>welcome</html>"), "doesn’t respond like a Mastodon instance"),
            (Reply(200, {}), "doesn’t respond like a Mastodon instance"),
            (Reply(503), "answered 503"),
            (Reply(silent=True), "didn’t answer in time"),
            (Reply(302, headers={"Location": "https://moved.example/"}), "redirects to moved.example"),
        ],
    )
    def test_what_the_instance_said_is_told(self, reply: Reply, words: str) -> None:
        self.service.paths["/api/v1/accounts/verify_credentials"] = reply
        self.timeout = IMPATIENT if reply.silent else PATIENT
        self.refuse_check(f"instance_url: .*{words}")

    def test_a_private_instance_is_told(self, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = ()
        with pytest.raises(InvalidDestination, match="private address"):
            CHANNEL.check(parsed(instance_url=self.url))
        assert self.service.requests == []

    def test_an_instance_out_of_reach_is_told(self) -> None:
        self.refuse_check("refuses connections", instance_url=closed_port())


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


@pytest.mark.usefixtures("loopback_allowed")
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


@pytest.mark.usefixtures("loopback_allowed")
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


@pytest.mark.usefixtures("loopback_allowed")
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


@pytest.mark.usefixtures("loopback_allowed")
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


@pytest.mark.usefixtures("loopback_allowed")
class TestSensitive(Picturing):
    def test_sensitive_pictures_are_posted_as_such(self) -> None:
        picture = Media(self.host.drawn("/1.png", size=(50, 40)).url, "image/png")
        post = entry("", content="<p>x</p>", media=(picture,), sensitive=True, warning="Bees")
        expect(self.post(letter(entries=(post,))), Sent)
        [request] = self.service.asked("/api/v1/statuses")
        assert (request.form["sensitive"], request.form["spoiler_text"]) == ("1", "Bees")
        assert len(self.pictures) == 1
