"""A post is sent to the reader's own site once, after any failures on the way."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from PIL import Image

from common.clock import utcnow
from common.pictures.picture import CleanPicture
from common.refused import Refused
from common.secrets import opened
from delivery.engine.claim import begin
from reader.entries.prune import prune_entries
from reader.micropub import send
from reader.micropub.compositions import (
    call_posted,
    clean_photo,
    hand_over,
    keep,
    react,
    recall,
    send_again,
    throw_away,
)
from reader.micropub.send import send_due
from reader.models import Composition, Photo, Reader
from reader.people.readers import drop_reader
from reader.rules.micropub import Said
from tests.examples import some_now
from tests.races import beside
from tests.reader.posts import an_entry, put
from tests.servers.feed_server import FeedServer, Reply
from tests.servers.micropub_site import MicropubSite

State = Composition.State
POST = "https://bob.example/a-post"
NOTE = Said(content="Hello, I am Ada.")
NEVER = {"ends_at": "", "refresh_token": ""}


def written(reader: Reader, said: Said = NOTE, *, key: str = "k", photos: Any = ()) -> Composition:
    kept = keep(reader=reader, key=key, said=said, photos=photos, now=utcnow())
    return hand_over(composition=kept, now=utcnow())


def sent(later: timedelta = timedelta(0)) -> int:
    return send_due(clock=lambda: utcnow() + later)


def row() -> Composition:
    return Composition.objects.get()


def a_photo(alt: str = "", *, exif: bytes = b"") -> tuple[CleanPicture, str]:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "JPEG", exif=exif)
    file.seek(0)
    return clean_photo(file), alt


def test_a_note_is_posted_and_the_reader_knows_where(connected: Reader, ours: MicropubSite) -> None:
    written(connected)
    assert sent() == 1
    assert ours.posts == [{"content": [NOTE.content]}]
    assert (row().state, row().location) == (State.POSTED, ours.url_of(1))
    assert sent() == 0


@pytest.mark.parametrize(
    ("said", "properties"),
    [
        (
            Said(kind="article", name="On engines", content="Long."),
            {"name": ["On engines"], "content": ["Long."]},
        ),
        (Said(kind="reply", url=POST, content="Yes."), {"in-reply-to": [POST], "content": ["Yes."]}),
        (Said(kind="like", url=POST, content="no place for it"), {"like-of": [POST]}),
        (Said(kind="repost", url=POST), {"repost-of": [POST]}),
        (
            Said(kind="bookmark", url=POST, name="A post", content="Good.", categories=("a b", "#c")),
            {"bookmark-of": [POST], "name": ["A post"], "content": ["Good."], "category": ["a b", "c"]},
        ),
        (Said(kind="rsvp", url=POST, rsvp="maybe"), {"in-reply-to": [POST], "rsvp": ["maybe"]}),
        (
            Said(content="x", targets=("https://m.example/@ada", "b"), visibility="unlisted"),
            {
                "content": ["x"],
                "mp-syndicate-to": ["https://m.example/@ada", "b"],
                "visibility": ["unlisted"],
            },
        ),
    ],
)
def test_each_kind_has_its_properties(
    connected: Reader, ours: MicropubSite, said: Said, properties: dict[str, list[str]]
) -> None:
    written(connected, said)
    sent()
    assert ours.posts == [properties]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (Said(), "content"),
        (Said(kind="article", content="x"), "name"),
        (Said(kind="reply", url=POST), "content"),
        (Said(kind="reply", content="x"), "url"),
        (Said(kind="like", url="javascript:alert(1)"), "url"),
        (Said(kind="rsvp", url=POST, rsvp="perhaps"), "rsvp"),
    ],
)
def test_what_is_not_complete_is_kept_and_not_sent(
    connected: Reader, ours: MicropubSite, said: Said, field: str
) -> None:
    with pytest.raises(Refused) as refused:
        written(connected, said)
    assert refused.value.field == field
    assert (sent(), ours.posts, row().state) == (0, [], State.KEPT)


def test_a_text_that_is_too_long_is_refused_before_it_is_kept(connected: Reader) -> None:
    with pytest.raises(Refused) as refused:
        written(connected, Said(content="x" * 50_001))
    assert (refused.value.field, Composition.objects.count()) == ("content", 0)


def test_pressed_twice_it_is_posted_once(connected: Reader, ours: MicropubSite) -> None:
    for _ in range(2):
        written(connected)
    sent()
    for _ in range(2):
        written(connected)
    assert (sent(), len(ours.posts), Composition.objects.count()) == (0, 1, 1)


def test_a_button_pressed_twice_likes_once(connected: Reader, ours: MicropubSite) -> None:
    entry = put(connected.channels.get(uid="home"), an_entry(jf2={"url": POST, "name": "A post"})).entry
    for kind in ("like", "like", "bookmark"):
        react(reader=connected, entry=entry, kind=kind, now=utcnow())
    sent()
    react(reader=connected, entry=entry, kind="like", now=utcnow())
    sent()
    assert ours.posts == [{"like-of": [POST]}, {"bookmark-of": [POST], "name": ["A post"]}]


class TestPhotos:
    def test_they_go_to_the_media_endpoint_first_and_without_what_cameras_add(
        self, connected: Reader, ours: MicropubSite
    ) -> None:
        exif = Image.Exif()
        exif[0x010E] = "at Ada's house"
        written(connected, photos=[a_photo(exif=exif.tobytes())])
        sent()
        (kind, data), *_ = ours.files
        assert kind == "image/jpeg"
        assert b"house" not in data
        assert ours.posts == [{"content": [NOTE.content], "photo": [ours.site.url("files/1")]}]
        assert not bytes(Photo.objects.get().data)

    def test_descriptions_go_along_as_json(self, connected: Reader, ours: MicropubSite) -> None:
        written(connected, Said(), photos=[a_photo("An engine"), a_photo()])
        sent()
        assert ours.posts == [
            {"photo": [{"value": ours.site.url("files/1"), "alt": "An engine"}, ours.site.url("files/2")]}
        ]

    def test_without_a_media_endpoint_they_go_with_the_post(
        self, connected: Reader, ours: MicropubSite
    ) -> None:
        ours.config = {}
        written(connected, photos=[a_photo(), a_photo()])
        sent()
        (post,) = ours.posts
        assert len(post["photo"]) == 2
        assert post["photo"][0].startswith("image/jpeg of ")

    def test_the_token_goes_to_no_other_server(self, connected: Reader, ours: MicropubSite) -> None:
        with FeedServer() as other:
            ours.config = {"media-endpoint": other.url("/media")}
            written(connected, photos=[a_photo()])
            sent()
            assert other.requests == []
        assert len(ours.posts) == 1

    def test_a_picture_that_is_refused_stops_the_post(self, connected: Reader, ours: MicropubSite) -> None:
        ours.scopes = "create"
        written(connected, photos=[a_photo()])
        sent()
        assert (ours.posts, row().state) == ([], State.REFUSED)
        assert "The token lacks media." in row().problem
        ours.scopes = "create media"
        send_again(composition=row(), now=utcnow())
        sent()
        assert (len(ours.posts), row().state) == (1, State.POSTED)

    def test_after_a_retry_no_picture_goes_twice(self, connected: Reader, ours: MicropubSite) -> None:
        written(connected, photos=[a_photo()])
        ours.says = Reply(status=429)
        sent()
        ours.says = None
        sent(timedelta(hours=1))
        assert (len(ours.files), len(ours.posts)) == (1, 1)


class TestRefusals:
    @pytest.mark.parametrize(
        ("scopes", "token", "words"),
        [
            ("", "token-1", "The token lacks create. Reconnect your site."),
            ("create", "other", "Bearer … is not known here. Reconnect your site."),
        ],
    )
    def test_they_are_told_in_the_servers_words_without_the_token(
        self, connected: Reader, ours: MicropubSite, scopes: str, token: str, words: str
    ) -> None:
        ours.scopes, ours.token = scopes, token
        written(connected)
        sent()
        assert (row().state, row().problem) == (State.REFUSED, f"127.0.0.1: {words}")
        assert Said.from_json(row().said) == NOTE

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            (Reply(b"<h1>No", 400), "HTTP 400"),
            (Reply(json.dumps({"error": "invalid\nrequest"}).encode(), 422), "invalid request"),
            (Reply(json.dumps({"error_description": "x" * 4000}).encode(), 400), "…"),
            (Reply(b"", 404), "HTTP 404"),
            (Reply(b"", 307, {"Location": "https://elsewhere.example/"}), "redirected the request"),
        ],
    )
    def test_a_refusal_is_final_and_bounded(
        self, connected: Reader, ours: MicropubSite, reply: Reply, words: str
    ) -> None:
        ours.says = reply
        written(connected)
        sent()
        assert row().state == State.REFUSED
        assert words in row().problem
        assert len(row().problem) < 600
        assert sent(timedelta(days=1)) == 0

    def test_what_was_refused_can_be_mended_and_sent(self, connected: Reader, ours: MicropubSite) -> None:
        ours.says = Reply(status=400)
        written(connected)
        sent()
        ours.says = None
        written(connected, Said(content="Better."))
        sent()
        assert ours.posts == [{"content": ["Better."]}]

    def test_without_a_connection_it_is_kept(self, ada: Reader) -> None:
        written(ada)
        sent()
        assert (row().state, row().problem) == (State.REFUSED, send.NOT_CONNECTED)


class TestLostAnswers:
    def test_what_arrived_is_found_and_not_sent_again(
        self, connected: Reader, ours: MicropubSite, impatient: None
    ) -> None:
        ours.slow, ours.published = 1.0, utcnow().isoformat()
        written(connected)
        sent()
        assert row().state == State.UNSURE
        assert sent() == 0, "the site gets a moment"
        sent(timedelta(seconds=30))
        assert (row().state, row().location) == (State.POSTED, ours.url_of(1))
        assert len(ours.posts) == 1

    @pytest.mark.parametrize("status", some_now([500, 502, 503, 504, 200, 302]))
    def test_an_answer_that_says_nothing_is_no_answer(
        self, connected: Reader, ours: MicropubSite, status: int
    ) -> None:
        ours.says, ours.takes = Reply(b"<h1>Hm</h1>", status), True
        written(connected)
        sent()
        assert row().state == State.UNSURE
        for hours in range(1, 10):
            sent(timedelta(hours=hours))
        assert (row().state, row().due_at, len(ours.posts)) == (State.UNSURE, None, 1)

    @pytest.mark.parametrize(
        "before",
        [
            {"content": ["Hello, I am Ada."], "published": ["2026-01-01T00:00:00Z"]},
            {"content": ["Hello, I am Ada."]},
            {"content": ["Something else."], "published": [""]},
        ],
    )
    def test_an_older_post_that_says_the_same_is_not_taken_for_it(
        self, connected: Reader, ours: MicropubSite, before: Any
    ) -> None:
        ours.posts.append(before)
        ours.says = Reply(status=502)
        written(connected)
        sent()
        sent(timedelta(minutes=1))
        assert row().state == State.UNSURE

    def test_the_person_decides_what_nobody_knows(
        self, connected: Reader, ours: MicropubSite, impatient: None
    ) -> None:
        ours.slow, ours.lists_posts = 1.0, False
        written(connected, key="a")
        sent()
        call_posted(composition=row())
        assert (row().state, sent(timedelta(days=1)), len(ours.posts)) == (State.POSTED, 0, 1)
        written(connected, key="b")
        sent()
        ours.slow = 0.0
        second = Composition.objects.get(key="b")
        send_again(composition=second, now=utcnow())
        sent()
        second.refresh_from_db()
        assert (second.state, second.location) == (State.POSTED, ours.url_of(3))

    def test_a_worker_that_dies_while_it_sends_leaves_a_question(
        self, connected: Reader, ours: MicropubSite, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def dies(**_: Any) -> None:
            raise KeyboardInterrupt

        written(connected)
        with monkeypatch.context() as patched:
            patched.setattr(send, "record_answer", dies)
            with pytest.raises(KeyboardInterrupt):
                sent()
        assert (row().state, len(ours.posts)) == (State.SENDING, 1)
        assert sent() == 0
        ours.published = utcnow().isoformat()
        sent(timedelta(minutes=6))
        assert (row().state, len(ours.posts)) == (State.POSTED, 1)

    def test_a_worker_that_dies_before_it_sends_leaves_nothing_unsent(
        self, connected: Reader, ours: MicropubSite, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def dies(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        written(connected)
        with monkeypatch.context() as patched:
            patched.setattr(send, "mark_sending", dies)
            with pytest.raises(KeyboardInterrupt):
                sent()
        assert (row().state, sent()) == (State.WAITING, 0)
        sent(timedelta(minutes=6))
        assert (row().state, len(ours.posts)) == (State.POSTED, 1)


class TestRetries:
    def test_what_never_left_is_sent_when_the_site_is_back(
        self, connected: Reader, ours: MicropubSite
    ) -> None:
        endpoint = connected.endpoints["micropub"]
        Reader.objects.update(endpoints={**connected.endpoints, "micropub": "http://127.0.0.1:9/micropub"})
        written(connected)
        sent()
        assert row().state == State.WAITING
        assert "refuses connections" in row().problem
        Reader.objects.update(endpoints={**connected.endpoints, "micropub": endpoint})
        sent(timedelta(minutes=2))
        assert (row().state, len(ours.posts)) == (State.POSTED, 1)

    def test_a_site_that_never_comes_back_is_told_in_the_end_and_the_text_stays(
        self, connected: Reader
    ) -> None:
        Reader.objects.update(endpoints={**connected.endpoints, "micropub": "http://127.0.0.1:9/micropub"})
        written(connected)
        for hours in range(30):
            sent(timedelta(hours=2 * hours))
        assert (row().state, row().attempts) == (State.REFUSED, 10)
        assert Said.from_json(row().said) == NOTE

    def test_a_site_that_wants_time_gets_it(self, connected: Reader, ours: MicropubSite) -> None:
        ours.says = Reply(b"", 429, {"Retry-After": "1800"})
        written(connected)
        sent()
        assert sent(timedelta(minutes=20)) == 0
        ours.says = None
        sent(timedelta(minutes=31))
        assert row().state == State.POSTED

    def test_no_private_address_is_asked(self, connected: Reader, ours: MicropubSite, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        written(connected, photos=[a_photo()])
        sent()
        assert ours.site.server.requests == []
        assert row().state == State.WAITING
        assert "on the public web" in row().problem


class TestTokens:
    def test_one_that_ends_is_renewed_before_it_is_used(self, connected: Reader, ours: MicropubSite) -> None:
        ends = (utcnow() + timedelta(minutes=1)).isoformat()
        secrets = {"token": "old", "refresh_token": "r-1", "scope": "create", "ends_at": ends}
        Reader.objects.update(micropub=secrets)
        ours.token = "token-new"
        ours.site.said = {"access_token": "token-new", "expires_in": 3600, "refresh_token": "r-2"}
        written(connected)
        sent()
        assert row().state == State.POSTED
        connected.refresh_from_db()
        kept = opened(connected.micropub)
        assert (kept["token"], kept["refresh_token"]) == ("token-new", "r-2")

    def test_one_that_cannot_be_renewed_asks_for_the_person(
        self, connected: Reader, ours: MicropubSite
    ) -> None:
        secrets = {"token": "old", "refresh_token": "r-1", "scope": "create", "ends_at": utcnow().isoformat()}
        Reader.objects.update(micropub=secrets)
        ours.site.server.serve("/ada/token", '{"error": "invalid_grant"}', status=400)
        written(connected)
        sent()
        assert (row().state, ours.posts) == (State.REFUSED, [])


def test_what_waits_can_be_taken_back_and_thrown_away(connected: Reader, ours: MicropubSite) -> None:
    one = written(connected)
    with pytest.raises(Refused):
        throw_away(composition=one)
    recall(composition=one)
    assert (row().state, sent()) == (State.KEPT, 0)
    throw_away(composition=row())
    assert (Composition.objects.count(), ours.posts) == (0, [])


def test_what_is_being_sent_cannot_be_taken_back(
    connected: Reader, ours: MicropubSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    mark = send.mark_sending

    def meanwhile(**given: Any) -> Any:
        for act in (recall, throw_away):
            with pytest.raises(Refused) as refused:
                act(composition=row())
            said.append(str(refused.value))
        return mark(**given)

    written(connected)
    monkeypatch.setattr(send, "mark_sending", meanwhile)
    sent()
    assert (len(said), row().state) == (2, State.POSTED)


def test_many_at_once_go_out_once_each_and_in_their_order(connected: Reader, ours: MicropubSite) -> None:
    for number in range(10):
        written(connected, Said(content=f"Note {number}"), key=str(number))
    assert sent() == 10
    assert [post["content"][0] for post in ours.posts] == [f"Note {number}" for number in range(10)]


def test_what_was_posted_is_forgotten_after_a_year_and_drafts_never(
    connected: Reader, ours: MicropubSite
) -> None:
    written(connected)
    keep(reader=connected, key="draft", said=NOTE, now=utcnow())
    sent()
    prune_entries(now=utcnow() + timedelta(days=360))
    assert Composition.objects.count() == 2
    prune_entries(now=utcnow() + timedelta(days=366))
    assert row().key == "draft"


def test_erasing_a_reader_erases_what_they_wrote(connected: Reader) -> None:
    written(connected, photos=[a_photo()])
    drop_reader(reader=connected, now=utcnow())
    assert (Composition.objects.count(), Photo.objects.count()) == (0, 0)


def test_after_a_restore_nothing_is_posted_that_may_have_been_posted_before(
    connected: Reader, ours: MicropubSite
) -> None:
    ours.posts.append({"content": ["Posted before."]})
    ours.published = utcnow().isoformat()
    written(connected, Said(content="Posted before."), key="a")
    written(connected, Said(content="Never posted."), key="b")
    begin(now=utcnow())
    sent()
    found = dict(Composition.objects.values_list("key", "state"))
    assert found == {"a": State.POSTED, "b": State.UNSURE}
    assert len(ours.posts) == 1


def test_a_form_that_is_sent_twice_at_one_moment_is_one_post(
    transactional_db: None, connected: Reader, ours: MicropubSite
) -> None:
    one, two = beside(lambda: written(connected), lambda: written(connected))
    assert one.pk == two.pk
    assert (sent(), len(ours.posts)) == (1, 1)


def test_two_workers_never_have_posts_of_one_reader(
    transactional_db: None, connected: Reader, ours: MicropubSite
) -> None:
    for number in range(3):
        written(connected, key=str(number))
    jobs, done = beside(lambda: send.claimed_jobs(utcnow()), sent, blocks=connection.vendor == "sqlite")
    assert (len(jobs), done, ours.posts) == (1, 0, [])
