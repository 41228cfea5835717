"""Posting to one's own site: connecting it, the form, the buttons, and the result."""

import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from common.clock import utcnow
from common.secrets import opened
from reader.micropub.compositions import MOST_UNPOSTED, hand_over, keep
from reader.micropub.send import NOT_CONNECTED, send_due
from reader.models import Composition, Entry, Reader
from reader.rules.micropub import WRITTEN_KINDS, Said
from tests.reader.micropub.connected import connected, impatient, nothing_remembered, ours
from tests.reader.posts import an_entry, put
from tests.servers.feed_server import Reply
from tests.servers.micropub_site import MicropubSite
from tests.servers.own_site import OwnSite

__all__ = ["connected", "impatient", "nothing_remembered", "ours"]

COMPOSE = "/reader/compose/"
POST = "https://bob.example/a-post"
State = Composition.State
Web = Callable[[Reader], Client]


@pytest.fixture
def ada_web(connected: Reader, web: Web) -> Client:
    return web(connected)


@pytest.fixture
def entry(connected: Reader) -> Entry:
    """Return a post that Ada reads."""
    jf2 = {"type": "entry", "url": POST, "name": "A post of Bob's", "published": "2026-03-01T10:00:00+00:00"}
    return put(connected.channels.get(uid="home"), an_entry(jf2=jf2)).entry


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def sent(later: timedelta) -> None:
    send_due(clock=lambda: utcnow() + later)


def a_form(**changed: Any) -> dict[str, Any]:
    return {"key": "form-1", "kind": "note", "content": "Hello.", "act": "send", **changed}


def a_picture(kind: str = "PNG") -> SimpleUploadedFile:
    file = io.BytesIO()
    Image.new("RGB", (30, 20), "green").save(file, kind)
    return SimpleUploadedFile("a.png", file.getvalue(), "image/png")


def said_yes(client: Client, site: OwnSite, **instead: str) -> Any:
    """Return the page after consent at the site."""
    begun = client.post(f"{COMPOSE}connect/", {"me": site.me})
    assert begun.status_code == 302, begun.content
    return client.get(f"{COMPOSE}connected/", site.says_yes(begun.headers["Location"], **instead))


class TestConnecting:
    def test_the_way_leads_to_ones_own_site_and_back_with_a_token(
        self, ada: Reader, web: Web, own_site: OwnSite
    ) -> None:
        client = web(ada)
        page = client.get(COMPOSE)
        assert "Reply, like and post on your own website" in text(page)
        assert "form-action 'self' https:" in page.headers["Content-Security-Policy"]
        begun = client.post(f"{COMPOSE}connect/", {"me": own_site.me})
        query = own_site.says_yes(begun.headers["Location"])
        assert own_site.asked[query["code"]]["scope"] == "create media"
        answer = client.get(f"{COMPOSE}connected/", query)
        assert (answer.status_code, answer.headers["Location"]) == (302, COMPOSE)
        ada.refresh_from_db()
        assert (ada.me, bool(ada.verified_at)) == (own_site.me, True)
        assert ada.endpoints["micropub"] == own_site.url("micropub")
        assert opened(ada.micropub)["token"] == "token-1"
        assert client.get(f"{COMPOSE}connected/", query).status_code == 400, "it is worth something once"

    def test_nobody_is_led_to_a_site_that_does_not_take_posts(
        self, ada: Reader, web: Web, own_site: OwnSite
    ) -> None:
        own_site.rels.pop("micropub")
        answer = web(ada).post(f"{COMPOSE}connect/", {"me": own_site.me})
        assert answer.status_code == 400
        assert "rel=micropub" in text(answer)

    @pytest.mark.parametrize("given", ["media", "profile", "read email"])
    def test_a_token_that_may_not_post_is_not_kept(
        self, ada: Reader, web: Web, own_site: OwnSite, given: str
    ) -> None:
        own_site.said = {"scope": given}
        answer = said_yes(web(ada), own_site)
        assert answer.status_code == 400
        assert "grant permission to post" in text(answer)
        ada.refresh_from_db()
        assert (ada.me, bool(ada.micropub)) == ("", False)

    def test_an_answer_that_nobody_asked_for_is_none(self, ada: Reader, web: Web) -> None:
        answer = web(ada).get(f"{COMPOSE}connected/?code=x&state=y")
        assert answer.status_code == 400
        ada.refresh_from_db()
        assert not ada.micropub

    def test_nobody_gets_the_site_of_another_person(
        self, connected: Reader, bob: Reader, web: Web, ours: MicropubSite
    ) -> None:
        answer = said_yes(web(bob), ours.site)
        assert "Someone else here has already connected this site." in text(answer)
        bob.refresh_from_db()
        assert (bob.me, bool(bob.micropub)) == ("", False)

    @pytest.mark.parametrize(
        "me", ["", "javascript:alert(1)", "http://169.254.169.254/", "http://127.0.0.1:1/", "not a site"]
    )
    def test_what_is_no_site_is_told(self, ada: Reader, web: Web, me: str, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        answer = web(ada).post(f"{COMPOSE}connect/", {"me": me})
        assert answer.status_code == 400
        assert "This site couldn’t be connected." in text(answer)

    def test_disconnecting_forgets_the_token_and_keeps_what_was_written(
        self, connected: Reader, ada_web: Client
    ) -> None:
        ada_web.post(COMPOSE, a_form(act="keep"))
        ada_web.post(f"{COMPOSE}connect/", {"act": "disconnect"})
        connected.refresh_from_db()
        assert not connected.micropub
        assert "Hello." in text(ada_web.get(COMPOSE))

    def test_disconnecting_keeps_what_was_typed_beside_the_button(
        self, connected: Reader, ada_web: Client
    ) -> None:
        answer = ada_web.post(COMPOSE, a_form(act="disconnect"), follow=True)
        connected.refresh_from_db()
        assert not connected.micropub
        assert "Hello." in text(answer)
        assert connected.compositions.get().state == "kept"

    def test_disconnecting_with_nothing_typed_keeps_nothing(self, connected: Reader, ada_web: Client) -> None:
        ada_web.post(COMPOSE, a_form(act="disconnect", content=""))
        connected.refresh_from_db()
        assert not connected.micropub
        assert not connected.compositions.exists()


class TestForm:
    def test_what_is_written_is_posted_and_the_page_says_where(
        self, ada_web: Client, ours: MicropubSite
    ) -> None:
        answer = ada_web.post(COMPOSE, a_form())
        page = answer.headers["Location"]
        waiting = ada_web.get(page)
        assert "Sending" in text(waiting)
        assert waiting.headers["Refresh"] == "3"
        assert ours.site.server.asked("/ada/micropub") == [], "nothing goes out while somebody waits"
        send_due()
        posted = ada_web.get(page)
        assert f'<a href="{ours.url_of(1)}"' in text(posted)
        assert "Refresh" not in posted.headers
        assert ours.url_of(1) in text(ada_web.get(COMPOSE))

    @pytest.mark.parametrize("kind", WRITTEN_KINDS)
    def test_every_kind_has_a_form(self, ada_web: Client, kind: str) -> None:
        answer = ada_web.get(COMPOSE, {"kind": kind, "url": POST})
        assert answer.status_code == 200
        assert f'name="kind" value="{kind}"' in text(answer)

    def test_a_form_that_is_sent_twice_is_one_post(self, ada_web: Client, ours: MicropubSite) -> None:
        places = {ada_web.post(COMPOSE, a_form()).headers["Location"] for _ in range(3)}
        send_due()
        places.add(ada_web.post(COMPOSE, a_form()).headers["Location"])
        send_due()
        assert (len(places), len(ours.posts)) == (1, 1)

    def test_whoever_goes_back_and_writes_something_else_is_asked(
        self, ada_web: Client, ours: MicropubSite
    ) -> None:
        ada_web.post(COMPOSE, a_form())
        send_due()
        again = [ada_web.post(COMPOSE, a_form(content="Something else.")) for _ in range(2)]
        assert send_due() == 0
        places = {answer.headers["Location"] for answer in again}
        assert len(places) == 1
        page = text(ada_web.get(places.pop()))
        assert "This form was already sent with a different text." in page
        assert "Something else." in page
        assert ours.posts == [{"content": ["Hello."]}]

    def test_what_lacks_something_keeps_what_was_typed(self, ada_web: Client) -> None:
        answer = ada_web.post(COMPOSE, a_form(kind="article", content="Long and dear.", categories="a, b"))
        assert answer.status_code == 400
        assert "An article needs a title." in text(answer)
        assert "Long and dear." in text(answer)
        row = Composition.objects.get()
        assert (row.state, row.said["content"]) == (State.KEPT, "Long and dear.")

    def test_another_kind_is_chosen_without_losing_the_text(self, ada_web: Client) -> None:
        place = ada_web.post(COMPOSE, a_form(act="as-article")).headers["Location"]
        answer = ada_web.get(place)
        assert 'name="kind" value="article"' in text(answer)
        assert "Hello." in text(answer)
        again = ada_web.post(COMPOSE, a_form(act="as-like", kind="article", name="A title")).headers[
            "Location"
        ]
        assert again == place
        like = text(ada_web.get(place))
        assert 'type="hidden" name="content" value="Hello."' in like
        assert 'type="hidden" name="name" value="A title"' in like

    def test_a_draft_is_found_again_mended_and_posted(self, ada_web: Client, ours: MicropubSite) -> None:
        place = ada_web.post(COMPOSE, a_form(act="keep")).headers["Location"]
        assert send_due() == 0
        (key,) = re.findall(r'name="key" value="([^"]+)"', ada_web.get(place).content.decode())
        ada_web.post(COMPOSE, a_form(key=key, content="Hello, all."))
        send_due()
        assert ours.posts == [{"content": ["Hello, all."]}]
        assert ada_web.get(place).headers["Location"].startswith(COMPOSE)

    def test_where_copies_go_is_what_the_site_offers(self, ada_web: Client, ours: MicropubSite) -> None:
        ours.config = {"syndicate-to": [{"uid": "https://m.example/@ada", "name": "Ada <on> M"}, 7, {}]}
        assert "Ada &lt;on&gt; M" in text(ada_web.get(COMPOSE))
        asked = len(ours.site.server.requests)
        ada_web.get(COMPOSE)
        assert len(ours.site.server.requests) == asked, "it is remembered"
        ada_web.post(COMPOSE, a_form(target=["https://m.example/@ada"]))
        send_due()
        assert ours.posts == [{"content": ["Hello."], "mp-syndicate-to": ["https://m.example/@ada"]}]

    def test_older_sites_are_asked_for_targets_alone(self, ada_web: Client, ours: MicropubSite) -> None:
        ours.config = {"later-targets": ["one"]}
        assert 'value="one"' in text(ada_web.get(COMPOSE))

    @pytest.mark.parametrize("config", [None, {"syndicate-to": "x", "media-endpoint": 7}, {"x": [[[]]]}])
    def test_a_site_that_answers_nonsense_has_a_form_all_the_same(
        self, ada_web: Client, ours: MicropubSite, config: Any
    ) -> None:
        ours.config = config
        assert ada_web.get(COMPOSE).status_code == 200

    def test_pictures_go_along_and_may_be_left_out_again(self, ada_web: Client, ours: MicropubSite) -> None:
        form = a_form(act="keep", **{"photo-0": a_picture(), "alt-0": "Green", "photo-1": a_picture("JPEG")})
        place = ada_web.post(COMPOSE, form).headers["Location"]
        (first, second) = Composition.objects.get().photos.all()
        assert "Green" in text(ada_web.get(place))
        ada_web.post(COMPOSE, a_form(remove=[str(second.pk)]))
        send_due()
        assert ours.posts[0]["photo"] == [{"value": ours.site.url("files/1"), "alt": "Green"}]
        assert first.media_type in ("image/png", "image/jpeg")

    def test_what_is_no_picture_is_told_and_the_text_is_kept(self, ada_web: Client) -> None:
        file = SimpleUploadedFile("a.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/png")
        answer = ada_web.post(COMPOSE, a_form(**{"photo-0": file, "photo-1": a_picture()}))
        assert answer.status_code == 400
        assert "isn’t a readable picture" in text(answer)
        row = Composition.objects.get()
        assert (row.said["content"], row.photos.count(), row.state) == ("Hello.", 1, State.KEPT)

    @pytest.mark.slow
    def test_more_than_four_pictures_are_not_kept(self, ada_web: Client) -> None:
        for _ in range(2):
            files = {f"photo-{number}": a_picture() for number in range(3)}
            ada_web.post(COMPOSE, a_form(act="keep", **files))
        assert Composition.objects.get().photos.count() == 4

    def test_drafts_are_bounded(self, connected: Reader, ada_web: Client, monkeypatch: Any) -> None:
        monkeypatch.setattr("reader.micropub.compositions.MOST_UNPOSTED", 2)
        answers = [ada_web.post(COMPOSE, a_form(key=str(n), act="keep")).status_code for n in range(3)]
        assert answers == [302, 302, 400]
        assert MOST_UNPOSTED > 2

    @pytest.mark.parametrize("key", ["", "x" * 61])
    def test_a_form_without_a_key_of_ours_is_refused_with_its_text(self, ada_web: Client, key: str) -> None:
        answer = ada_web.post(COMPOSE, a_form(key=key))
        assert answer.status_code == 400
        assert "Hello." in text(answer)

    def test_markup_is_shown_as_text(self, ada_web: Client, ours: MicropubSite) -> None:
        ours.says = Reply(b'{"error_description": "<script>alert(1)</script>"}', 400)
        evil = "<script>alert(2)</script>"
        page = ada_web.post(COMPOSE, a_form(content=evil, kind="article", name=evil)).headers["Location"]
        send_due()
        for place in (page, COMPOSE, f"{COMPOSE}?draft={Composition.objects.get().pk}"):
            assert "<script>alert" not in text(ada_web.get(place))

    def test_a_location_that_is_no_address_of_the_web_is_no_link(
        self, ada_web: Client, ours: MicropubSite
    ) -> None:
        ours.says = Reply(b"", 201, {"Location": "javascript:alert(1)"})
        page = ada_web.post(COMPOSE, a_form()).headers["Location"]
        send_due()
        assert "javascript:" not in text(ada_web.get(page))
        assert "return" in text(ada_web.get(page))


class TestWhatBecameOfIt:
    def test_a_refusal_is_told_with_ways_on(self, ada_web: Client, ours: MicropubSite) -> None:
        ours.scopes = ""
        page = ada_web.post(COMPOSE, a_form()).headers["Location"]
        send_due()
        assert "The token lacks create." in text(ada_web.get(page))
        ours.scopes = "create"
        ada_web.post(page, {"act": "again"})
        send_due()
        assert len(ours.posts) == 1

    def test_what_is_perhaps_posted_asks_the_person(
        self, ada_web: Client, ours: MicropubSite, impatient: None
    ) -> None:
        ours.slow, ours.lists_posts = 1.0, False
        page = ada_web.post(COMPOSE, a_form()).headers["Location"]
        send_due()
        assert "We’re checking your website." in text(ada_web.get(page))
        for hours in range(1, 6):
            sent(timedelta(hours=hours))
        assert "choose what you see" in text(ada_web.get(page))
        ada_web.post(page, {"act": "is-there"})
        assert Composition.objects.get().state == State.POSTED
        assert len(ours.posts) == 1

    def test_what_waits_is_taken_back_into_the_form(self, ada_web: Client, ours: MicropubSite) -> None:
        page = ada_web.post(COMPOSE, a_form()).headers["Location"]
        ada_web.post(page, {"act": "take-back"})
        assert "draft=" in ada_web.get(page).headers["Location"]
        assert send_due() == 0

    def test_a_draft_is_thrown_away(self, ada_web: Client) -> None:
        ada_web.post(COMPOSE, a_form(act="keep"))
        row = Composition.objects.get()
        assert ada_web.post(f"{COMPOSE}{row.pk}/", {"act": "throw-away"}).headers["Location"] == COMPOSE
        assert not Composition.objects.exists()

    def test_what_is_on_its_way_is_not_thrown_away(self, ada_web: Client) -> None:
        page = ada_web.post(COMPOSE, a_form()).headers["Location"]
        assert ada_web.post(page, {"act": "throw-away"}).status_code == 400
        assert Composition.objects.exists()


class TestButtons:
    def test_they_post_and_say_where_it_went(self, ada_web: Client, ours: MicropubSite, entry: Entry) -> None:
        place = f"/reader/post/{entry.pk}/"
        assert 'value="like"' in text(ada_web.get(place))
        answer = ada_web.post(f"{place}react/", {"act": "like", "back": "/reader/#post-1"})
        assert answer.headers["Location"] == "/reader/#post-1"
        assert "A like: <a" in text(ada_web.get("/reader/"))
        send_due()
        assert ours.posts == [{"like-of": [POST]}]
        for page in ("/reader/", place):
            shown = text(ada_web.get(page))
            assert f'A like: <a href="{ours.url_of(1)}" rel="noopener noreferrer">posted</a>' in shown
            assert 'value="like"' not in shown
            assert 'value="repost"' in shown

    def test_a_like_that_was_refused_can_be_tried_again(
        self, ada_web: Client, ours: MicropubSite, entry: Entry
    ) -> None:
        ours.scopes = ""
        place = f"/reader/post/{entry.pk}/"
        ada_web.post(f"{place}react/", {"act": "like"})
        send_due()
        shown = text(ada_web.get(place))
        assert "not posted" in shown
        assert 'value="like"' in shown
        ours.scopes = "create"
        ada_web.post(f"{place}react/", {"act": "like"})
        send_due()
        assert ours.posts == [{"like-of": [POST]}]

    @pytest.mark.parametrize(
        ("problem", "shown"),
        [
            (NOT_CONNECTED, '<span dir="auto">Ihre Website ist nicht verbunden.'),
            ("ada.example: Try later", '<span lang="en" dir="auto">ada.example: Try later</span>'),
        ],
    )
    def test_why_a_post_was_refused_is_in_the_readers_language_or_marked_as_english(
        self, ada_web: Client, entry: Entry, problem: str, shown: str
    ) -> None:
        ada_web.post(f"/reader/post/{entry.pk}/react/", {"act": "like"})
        row = Composition.objects.get().become(state=State.REFUSED, due_at=None, problem=problem)
        for page in (f"{COMPOSE}{row.pk}/", f"{COMPOSE}?draft={row.pk}"):
            assert shown in text(ada_web.get(page, headers={"accept-language": "de"}))

    def test_a_reply_begins_with_the_address_of_its_post(
        self, ada_web: Client, ours: MicropubSite, entry: Entry
    ) -> None:
        page = text(ada_web.get(f"{COMPOSE}?kind=reply&entry={entry.pk}"))
        assert f'name="url" value="{POST}"' in page
        assert "A post of Bob&#x27;s" in page
        ada_web.post(COMPOSE, a_form(kind="reply", url=POST, entry=entry.pk, content="Yes."))
        send_due()
        assert f'A reply: <a href="{ours.url_of(1)}"' in text(ada_web.get("/reader/"))

    def test_whoever_has_no_site_has_no_buttons(
        self, connected: Reader, ada_web: Client, entry: Entry
    ) -> None:
        Reader.objects.update(micropub={})
        assert 'value="like"' not in text(ada_web.get("/reader/"))

    @pytest.mark.parametrize("act", ["", "reply", "note", "x"])
    def test_only_what_needs_no_words_is_a_button(self, ada_web: Client, entry: Entry, act: str) -> None:
        assert ada_web.post(f"/reader/post/{entry.pk}/react/", {"act": act}).status_code == 404

    def test_a_starred_post_that_went_has_them_too(
        self, ada_web: Client, ours: MicropubSite, entry: Entry
    ) -> None:
        ada_web.post(f"/reader/post/{entry.pk}/star/", {"act": "star"})
        ada_web.post(f"/reader/post/{entry.pk}/react/", {"act": "bookmark"})
        assert "A bookmark: <a" in text(ada_web.get("/reader/starred/"))


def test_nobody_reaches_what_another_person_wrote_or_reads(
    connected: Reader, bob: Reader, web: Web, entry: Entry
) -> None:
    kept = keep(reader=connected, key="k", said=Said(content="Dear diary"), now=utcnow())
    posted = hand_over(
        composition=keep(reader=connected, key="l", said=Said(content="x"), now=utcnow()), now=utcnow()
    )
    before = list(Composition.objects.order_by("pk").values())
    client = web(bob)
    Reader.objects.filter(pk=bob.pk).update(micropub={"token": "x"})
    for row in (kept, posted):
        assert client.get(f"{COMPOSE}?draft={row.pk}").status_code == 404
        assert client.get(f"{COMPOSE}{row.pk}/").status_code == 404
        for act in ("again", "is-there", "take-back", "throw-away"):
            assert client.post(f"{COMPOSE}{row.pk}/", {"act": act}).status_code == 404
    assert client.get(f"{COMPOSE}?kind=reply&entry={entry.pk}").status_code == 404
    for act in ("like", "repost", "bookmark"):
        assert client.post(f"/reader/post/{entry.pk}/react/", {"act": act}).status_code == 404
    # A form with another person's key, post and pictures.
    client.post(COMPOSE, a_form(key="k", act="keep", entry=entry.pk, content="Bob's", remove=["1", "2"]))
    assert list(Composition.objects.filter(reader=connected).order_by("pk").values()) == before
    mine = Composition.objects.get(reader=bob)
    assert (mine.said["content"], mine.entry) == ("Bob's", None)
    assert "Dear diary" not in text(client.get(COMPOSE))


@pytest.mark.parametrize("pk", [2**63, 10**30])
def test_numbers_that_no_database_has_lead_nowhere(ada_web: Client, pk: int) -> None:
    assert ada_web.get(f"{COMPOSE}{pk}/").status_code == 404
    assert ada_web.get(f"{COMPOSE}?draft={pk}").status_code == 404
    assert ada_web.post(f"/reader/post/{pk}/react/", {"act": "like"}).status_code == 404


def test_only_who_is_signed_in_sends_pictures(ada_web: Client) -> None:
    stranger = Client().post(COMPOSE, a_form(**{"photo-0": SimpleUploadedFile("a", b"x" * 100_000)}))
    assert stranger.status_code == 413
    assert (
        ada_web.post(COMPOSE, a_form(**{"photo-0": SimpleUploadedFile("a", b"x" * 100_000)})).status_code
        == 400
    )
