"""The callback for hubs: verified, accepted and refused requests."""

import io
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db.models import F
from django.test import Client, RequestFactory
from django.utils import timezone

from common.clock import utcnow
from feeds.hubs import subscriptions
from feeds.hubs.subscriptions import READER_LOST_AFTER, read_pushes, retry_missed_pushes
from feeds.models import Feed, HubSubscription, Poll, Push
from feeds.views.websub import read_body, websub
from tests.factories import FeedFactory
from tests.servers.hub import CHALLENGE, signature

pytestmark = pytest.mark.django_db
TOPIC = "https://blog.example/topic.xml?a=b&c"
TOKEN = "T" * 43
SECRET = "a secret"
BODY = b"<rss>raw \xff bytes</rss>"


@pytest.fixture
def row() -> HubSubscription:
    feed = FeedFactory(next_poll_at=timezone.now() + timedelta(hours=1), first_polled_at=timezone.now())
    facts: dict[str, Any] = {"topic": TOPIC, "token": TOKEN, "secret": {"secret": SECRET}, "state": "pending"}
    return HubSubscription.objects.create(
        feed=feed, hub="https://hub.example/", next_at=timezone.now(), **facts
    )


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Capture the calls of the polling service, each of which succeeds."""
    every: list[dict[str, Any]] = []

    def push_feed(**given: Any) -> Poll:
        every.append(given)
        return Poll(feed_id=given["feed_id"], outcome="read", new=1)

    monkeypatch.setattr(subscriptions, "push_feed", push_feed)
    return every


def verify(client: Client, token: str = TOKEN, **said: str) -> Any:
    asked = {"mode": "subscribe", "topic": TOPIC, "challenge": CHALLENGE, "lease_seconds": "3600", **said}
    return client.get(f"/websub/{token}/", {f"hub.{name}": value for name, value in asked.items()})


def push(client: Client, body: bytes = BODY, *, token: str = TOKEN, signed: str | None = None) -> Any:
    header = signature(body, SECRET) if signed is None else signed
    return client.post(
        f"/websub/{token}/",
        body,
        content_type="application/atom+xml; charset=utf-8",
        headers={"X-Hub-Signature": header} if header else {},
    )


class TestVerification:
    def test_the_challenge_is_echoed_as_plain_text_that_no_browser_takes_for_a_page(
        self, client: Client, row: HubSubscription
    ) -> None:
        answer = verify(client)
        assert answer.status_code == 200
        assert answer.content == CHALLENGE.encode()
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        row.refresh_from_db()
        assert row.state == "active"
        assert row.expires_at is not None
        assert timedelta(minutes=59) < row.expires_at - utcnow() <= timedelta(hours=1)

    @pytest.mark.parametrize(
        "said",
        [
            {"topic": "https://blog.example/other"},
            {"topic": ""},
            {"mode": "unsubscribe"},
            {"mode": ""},
            {"mode": "publish"},
            {"challenge": ""},
            {"challenge": "x" * 2001},
            {"token": "U" * 43},
            {"token": "short"},
            {"token": "\x00" * 43},
        ],
    )
    def test_what_we_did_not_ask_for_is_not_found_and_changes_nothing(
        self, client: Client, row: HubSubscription, said: dict[str, str]
    ) -> None:
        answer = verify(client, **said)
        assert answer.status_code == 404
        assert CHALLENGE.encode() not in answer.content
        row.refresh_from_db()
        assert row.state == "pending"

    @pytest.mark.parametrize("state", ["wanted", "denied", "leaving"])
    def test_a_subscription_in_another_state_is_not_verified(
        self, client: Client, row: HubSubscription, state: str
    ) -> None:
        HubSubscription.objects.update(state=state)
        assert verify(client).status_code == 404

    def test_an_active_one_is_verified_again_only_right_after_it_was(
        self, client: Client, row: HubSubscription
    ) -> None:
        """The first response may have been lost; a later verification was not requested."""
        for lease, status in (("864000", 200), ("864000", 200), ("900000", 404)):
            assert verify(client, lease_seconds=lease).status_code == status
        HubSubscription.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
        assert verify(client, lease_seconds="864000").status_code == 404

    def test_leaving_is_verified_and_the_row_is_gone(self, client: Client, row: HubSubscription) -> None:
        HubSubscription.objects.update(state="leaving", feed=None)
        assert verify(client, mode="unsubscribe").content == CHALLENGE.encode()
        assert not HubSubscription.objects.exists()

    def test_a_denial_needs_no_challenge_and_is_noted(self, client: Client, row: HubSubscription) -> None:
        answer = verify(client, mode="denied", challenge="", reason="We <b>do not</b> like you")
        assert (answer.status_code, answer.content) == (200, b"")
        row.refresh_from_db()
        assert (row.state, row.last_error) == ("denied", "We <b>do not</b> like you")

    def test_a_denial_echoes_no_challenge(self, client: Client, row: HubSubscription) -> None:
        assert verify(client, mode="denied").content == b""

    @pytest.mark.parametrize("method", ["head", "put", "delete", "options", "patch"])
    def test_other_methods_are_refused(self, client: Client, row: HubSubscription, method: str) -> None:
        assert getattr(client, method)(f"/websub/{TOKEN}/").status_code == 405


class TestPush:
    @pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
    def test_a_signed_push_is_taken_byte_by_byte(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]], method: str
    ) -> None:
        assert push(client, signed=signature(BODY, SECRET, method)).status_code == 202
        assert taken == [], "the web process reads no push"
        assert read_pushes() == 1
        (given,) = taken
        assert (given["feed_id"], given["body"]) == (row.feed_id, BODY)
        assert given["headers"] == {"content-type": "application/atom+xml; charset=utf-8"}
        assert abs(given["moment"] - utcnow()) < timedelta(seconds=10)
        row.refresh_from_db()
        assert row.last_push_at == given["moment"]

    def test_no_cookie_and_no_csrf_token_are_needed_or_set(
        self, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        answer = push(Client(enforce_csrf_checks=True))
        assert answer.status_code == 202
        assert not answer.cookies

    @pytest.mark.parametrize(
        "signed",
        ["", "sha256=", "sha256=" + "0" * 64, "md5=" + "0" * 32, signature(BODY, "another"), "nonsense"],
    )
    def test_a_wrong_signature_is_not_told_and_nothing_is_taken(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]], signed: str
    ) -> None:
        right, wrong = push(client, b"other"), push(client, signed=signed)
        assert (wrong.status_code, wrong.content) == (right.status_code, right.content)
        read_pushes()
        assert [given["body"] for given in taken] == [b"other"]
        row.refresh_from_db()
        assert row.refused == 1

    def test_a_forged_push_does_not_make_a_silent_hub_live(
        self, client: Client, row: HubSubscription
    ) -> None:
        HubSubscription.objects.update(missed=2)
        push(client, signed=signature(BODY, "another"))
        row.refresh_from_db()
        assert (row.missed, row.last_push_at) == (2, None)

    def test_a_push_that_comes_again_changes_nothing(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        push(client)
        read_pushes()
        push(client, b"another")
        row.refresh_from_db()
        before = row.last_push_at
        assert push(client).status_code == 202
        read_pushes()
        assert [given["body"] for given in taken] == [BODY, b"another"]
        row.refresh_from_db()
        assert row.last_push_at == before

    def test_only_the_latest_pushes_are_remembered(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        for number in range(55):
            push(client, str(number).encode())
        row.refresh_from_db()
        assert len(row.seen) == 50

    @pytest.mark.parametrize("state", ["wanted", "denied", "leaving"])
    def test_what_we_do_not_want_any_more_is_gone(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]], state: str
    ) -> None:
        HubSubscription.objects.update(state=state)
        assert push(client).status_code == 410
        assert push(client, token="U" * 43).status_code == 410
        Feed.objects.all().delete()
        HubSubscription.objects.update(state="active")
        assert push(client).status_code == 410
        assert not Push.objects.exists()

    def test_five_megabytes_are_taken_and_not_one_byte_more(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        assert push(client, b"x" * 5_000_000).status_code == 202
        assert push(client, b"x" * 5_000_001).status_code == 413
        assert len(bytes(Push.objects.get().body)) == 5_000_000

    def test_a_secret_that_cannot_be_read_any_more_signs_nothing(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]], settings: Any
    ) -> None:
        settings.SECRET_KEY = "x" * 50
        assert push(client).status_code == 202
        assert push(client, signed=signature(BODY, "")).status_code == 202
        assert not Push.objects.exists()

    def test_the_key_stays_out_of_the_log(
        self, client: Client, row: HubSubscription, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG):
            HubSubscription.objects.update(state="leaving")
            push(client)
            verify(client)
            client.get("/websub/" + "V" * 43 + "/")
        assert TOKEN not in caplog.text
        assert "V" * 43 not in caplog.text


class TestDebts:
    """A push that cannot be stored is read from the feed."""

    def due(self) -> bool:
        return Feed.objects.due(utcnow()).exists()

    @pytest.mark.parametrize("answer", [None, Poll(outcome="failed", note="busy"), ValueError("bug")])
    def test_a_push_that_could_not_be_stored_makes_the_feed_due(
        self, client: Client, row: HubSubscription, monkeypatch: pytest.MonkeyPatch, answer: Any
    ) -> None:
        def push_feed(**given: Any) -> Poll | None:
            if isinstance(answer, Exception):
                raise answer
            return answer  # type: ignore[no-any-return]

        monkeypatch.setattr(subscriptions, "push_feed", push_feed)
        assert push(client).status_code == 202
        assert not self.due()
        assert read_pushes() == 1
        assert self.due()
        assert not Push.objects.exists()
        row.refresh_from_db()
        assert row.owed_at == row.last_push_at is not None

    def test_an_empty_push_is_a_hint_to_read(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        push(client, b" ")
        assert self.due()
        assert read_pushes() == 0

    def test_a_poll_that_began_before_the_push_does_not_pay(self, row: HubSubscription) -> None:
        now = utcnow()
        HubSubscription.objects.update(owed_at=now, state="active")
        later = now + timedelta(minutes=10)
        Feed.objects.update(fetched_through=now - timedelta(seconds=1), next_poll_at=later)
        retry_missed_pushes(now)
        row.refresh_from_db()
        assert (self.due(), row.owed_at) == (True, now)
        Feed.objects.update(fetched_through=now + timedelta(seconds=1), next_poll_at=later)
        retry_missed_pushes(now)
        row.refresh_from_db()
        assert (self.due(), row.owed_at) == (False, None)


class TestWaiting:
    """A push waits for a worker, however long; only one document per feed is stored."""

    def test_of_several_the_newest_is_kept_and_the_others_are_owed(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        for body in (b"one", b"two", b"three"):
            assert push(client, body).status_code == 202
        assert Feed.objects.due(utcnow()).exists()
        row.refresh_from_db()
        assert row.owed_at == row.last_push_at
        read_pushes()
        assert [given["body"] for given in taken] == [b"three"]
        assert not Push.objects.exists()

    def test_it_is_taken_as_of_when_it_arrived_after_workers_were_away_for_hours(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        push(client)
        arrived = Push.objects.get().arrived_at
        later = utcnow() + timedelta(hours=5)
        read_pushes(clock=lambda: later)
        assert [(given["moment"], given["now"]) for given in taken] == [(arrived, later)]

    def test_what_was_read_in_full_since_then_needs_no_push(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        push(client)
        Feed.objects.update(fetched_through=Push.objects.get().arrived_at)
        assert read_pushes() == 1
        assert (taken, Push.objects.count()) == ([], 0)
        row.refresh_from_db()
        assert row.owed_at is None

    def test_one_that_killed_a_worker_is_not_begun_again_but_owed(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        push(client)
        Push.objects.update(began_at=utcnow())
        assert read_pushes() == 0, "it may be at it still"
        later = utcnow() + READER_LOST_AFTER + timedelta(seconds=1)
        assert read_pushes(clock=lambda: later) == 1
        assert taken == []
        row.refresh_from_db()
        assert (row.owed_at, Push.objects.count()) == (row.last_push_at, 0)

    def test_one_that_comes_while_its_forerunner_is_read_stays(
        self, client: Client, row: HubSubscription, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def push_feed(**given: Any) -> Poll:
            push(client, b"meanwhile")
            return Poll(feed_id=given["feed_id"], outcome="read", new=1)

        monkeypatch.setattr(subscriptions, "push_feed", push_feed)
        push(client)
        assert read_pushes() == 1
        left = Push.objects.get()
        assert (bytes(left.body), left.began_at) == (b"meanwhile", None)

    def test_the_command_that_reads_feeds_reads_pushes_first(
        self, client: Client, row: HubSubscription, taken: list[dict[str, Any]]
    ) -> None:
        push(client)
        call_command("poll", stdout=io.StringIO())
        assert [given["body"] for given in taken] == [BODY]


class TestBody:
    """Some hubs send chunks without a length; servers mark such a body as terminated."""

    def test_a_chunked_body_is_read_from_the_server(self) -> None:
        request = RequestFactory().post("/", b"", content_type="text/xml")
        request.META |= {"wsgi.input_terminated": True, "wsgi.input": io.BytesIO(BODY)}
        assert read_body(request) == BODY
        request.META["wsgi.input"] = io.BytesIO(b"x" * 5_000_001)
        assert read_body(request) is None

    def test_more_than_was_announced_is_not_read(self) -> None:
        assert read_body(RequestFactory().post("/", BODY, content_type="text/xml")) == BODY
        request = RequestFactory().post("/", BODY, content_type="text/xml", CONTENT_LENGTH="3")
        assert read_body(request) == BODY[:3]

    def test_a_stranger_does_not_get_a_body_read(self) -> None:
        request = RequestFactory().post("/websub/x/", BODY, content_type="text/xml")
        assert websub(request, "U" * 43).status_code == 410
        assert request.read() == BODY

    def test_django_itself_would_refuse_what_we_take(self) -> None:
        """The reason why the stream is read and not `request.body`."""
        assert django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE < 5_000_000
