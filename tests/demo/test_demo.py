"""`manage.py demo`: a letter of every arrangement; it starts anew and goes on live.

The demo's sample blog: its posts by date, its feed and its pictures.
"""

import itertools
import os
import socket
import sqlite3
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape
from pathlib import Path

import pytest
import requests
from django.contrib.auth.models import User
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import NoReverseMatch, reverse
from pytest_django import Settings

from common.clock import utcnow
from delivery.models import Theme
from demo import images, pages
from demo.blog import IN_FEED, LIVE_EVERY, Blog
from demo.content import BLOG_POSTS, CORRECTED, WITHDRAWN
from demo.content.post import ZONE
from demo.dressing import SERIES_EMAILS, SERIES_POSTS, dress_newsletters, photograph
from demo.environment import environment, free_port, make_folder_fresh
from demo.history import PEOPLE, people
from demo.newsletters import NEWSLETTERS, WEEKS_LINKS, define_all
from demo.reader import PICKS
from demo.replay import WEEKS, beginning, steps, weeks
from demo.scenes import SCENES
from demo.server import LIGHTHOUSE_FEED, BlogServer
from demo.sign_in import LIFE, LINKS, offer_sign_in, sign_in
from feeds.parsing.document import parse
from subscriptions.models import Subscribable
from tests import forks
from tests.e2e.processes import ROOT, answers, clean_environment, running, until
from tests.examples import NIGHTLY, some_now
from tests.factories import FeedFactory

TODAY = date(2026, 3, 31)  # the weeks before include a clock change
NOW = datetime(2026, 3, 31, 10, 17, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def run_demo(folder: Path, *arguments: str, **values: str) -> subprocess.CompletedProcess[str]:
    return forks.run(
        [sys.executable, "manage.py", "demo", *arguments],
        cwd=ROOT,
        env=clean_environment({"DATA_DIR": str(folder), "DEMO_EXIT": "1", **values}),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def letters(folder: Path) -> dict[str, list[EmailMessage]]:
    """Return the messages of the mailbox by newsletter."""
    query = """
        SELECT s.name, m.raw FROM delivery_mailboxmessage m
        JOIN delivery_delivery d ON d.id = m.delivery_id AND d.state = 'stored'
        JOIN delivery_issue i ON i.id = d.issue_id
        JOIN subscriptions_subscribable s ON s.id = i.subscribable_id
    """
    found: dict[str, list[EmailMessage]] = {}
    with sqlite3.connect(folder / "demo" / "feedletter.db") as database:
        for name, raw in database.execute(query):
            message = message_from_bytes(raw, policy=policy.default)
            assert isinstance(message, EmailMessage)
            found.setdefault(name, []).append(message)
    return found


def whole(message: EmailMessage) -> str:
    """Return the subject and both parts, as one line of text."""
    parts = [part.get_content() for part in message.walk() if part.get_content_maintype() == "text"]
    return " ".join(f"{message['Subject']} {' '.join(parts)}".split())


@NIGHTLY
def test_a_letter_of_each_arrangement_comes_and_it_goes_on_live(tmp_path: Path) -> None:
    port = free_port("127.0.0.1", 18_400)
    site = f"http://127.0.0.1:{port}"
    values = {"DATA_DIR": str(tmp_path), "DEMO_EXIT": "0", "BIND": f"127.0.0.1:{port}"}
    log = tmp_path / "demo.log"
    with running("demo", [sys.executable, "manage.py", "demo"], values, tmp_path) as process:
        until(lambda: process.poll() is not None or "Stop the demo" in log.read_text(), "the replay", 240)
        said, first = log.read_text(), letters(tmp_path)
        assert_every_arrangement_ends_in_the_mailbox(first, said)
        assert_the_withdrawn_post_is_in_no_letter(first)
        assert_picks_and_the_series_are_in_the_mailbox(first)
        assert_every_letter_carries_the_corrected_text(first)
        timelines = [addresses(said, name)[0] for name in ("Mastodon", "Discord", "Fediverse")]
        pages = (
            *addresses(said, "Sample blog"),
            *addresses(said, "Reader"),
            *addresses(said, "Series"),
            *timelines,
        )
        for url in (site, f"{site}/s/harbour-notes/", *addresses(said, "Picks"), *pages):
            until(lambda url=url: answers(url), url)  # type: ignore[misc]
        assert PICKS[0].note in unescape(page(addresses(said, "Picks")[0]))
        assert_bridges_have_posted(timelines)
        with pytest.raises(CommandError, match="running"):
            make_folder_fresh(tmp_path / "demo")
        until(lambda: notes(letters(tmp_path)), "a live note in the mailbox", 180)
        for url in timelines:
            until(lambda url=url: "From the quay" in page(url), f"a live note at {url}", 60)  # type: ignore[misc]
        process.terminate()
        assert process.wait(40) == 0


@NIGHTLY
def test_a_second_demo_begins_afresh(tmp_path: Path) -> None:
    assert run_demo(tmp_path).returncode == 0
    first = letters(tmp_path)
    beside = f"sqlite:///{tmp_path}/beside.db"
    done = run_demo(tmp_path, "--json", DATABASE_URL=beside, EMAIL_URL="smtp://127.0.0.1:9")
    assert done.returncode == 0, done.stderr[-3000:]
    assert counts(letters(tmp_path)) == counts(first), "it began afresh"
    assert not any(file.stat().st_size for file in tmp_path.glob("*.db")), "no other database was touched"


def assert_every_arrangement_ends_in_the_mailbox(found: dict[str, list[EmailMessage]], said: str) -> None:
    assert {newsletter.name for newsletter in (*NEWSLETTERS, WEEKS_LINKS)} == set(found)
    for newsletter in (*NEWSLETTERS, WEEKS_LINKS):
        assert newsletter.title in said
    posts = len([post for post in BLOG_POSTS if post.days_ago <= 35 and not post.withdrawn])
    to_ada = {"harbour-notes": [mail for mail in found["harbour-notes"] if "ada@" in mail["To"]]}
    assert counts(to_ada)["harbour-notes"] == posts, "each post once"


def assert_the_withdrawn_post_is_in_no_letter(found: dict[str, list[EmailMessage]]) -> None:
    texts = [whole(message) for messages in found.values() for message in messages]
    assert len(texts) > 100
    assert not [text for text in texts if WITHDRAWN.title in text or WITHDRAWN.slug in text]


def assert_every_letter_carries_the_corrected_text(found: dict[str, list[EmailMessage]]) -> None:
    texts = {name: [whole(message) for message in messages] for name, messages in found.items()}
    for name in ("harbour-notes", "harbour-morning", "harbour-weekly", "harbour-handful", "harbour-ferry"):
        carrying = [text for text in texts[name] if "17:52" in text]
        assert carrying, f"{name} brought the corrected post"
        assert all("two hours late throughout" in text for text in carrying)
    assert not [text for each in texts.values() for text in each if "19:52" in text]


def assert_picks_and_the_series_are_in_the_mailbox(found: dict[str, list[EmailMessage]]) -> None:
    links = " ".join(map(whole, found[WEEKS_LINKS.name]))
    assert sum(picked.note in links for picked in PICKS if picked.note) >= 5
    subjects = [message["Subject"] for message in found["harbour-weekly"]]
    for subject in (*SERIES_EMAILS, *SERIES_POSTS):
        assert subjects.count(subject) > 1


def addresses(said: str, name: str) -> list[str]:
    lines = [line.removeprefix(name).split() for line in said.splitlines() if line.startswith(f"{name} ")]
    return [line[0] for line in lines]


def page(url: str) -> str:
    return requests.get(url, timeout=10).text


def assert_bridges_have_posted(timelines: list[str]) -> None:
    newest = min((post for post in BLOG_POSTS if not post.withdrawn), key=lambda post: post.days_ago)
    for url in timelines:
        shown = page(url)
        assert newest.title in unescape(shown)
        assert "/change/" in shown, "it leads to the bridge"


def counts(found: dict[str, list[EmailMessage]]) -> dict[str, int]:
    """Return counts by newsletter, without the notes of the live blog."""
    live = set(map(id, notes(found)))
    return {name: sum(id(message) not in live for message in messages) for name, messages in found.items()}


def notes(found: dict[str, list[EmailMessage]]) -> list[EmailMessage]:
    return [message for message in found.get("harbour-notes", ()) if "/note-" in whole(message)]


def test_there_is_a_newsletter_of_each_arrangement() -> None:
    arrangements = [newsletter.fields["arrangement"] for newsletter in NEWSLETTERS]
    assert sorted(arrangements) == sorted(Subscribable.Arrangement.values)


def test_it_does_not_run_within_another_program() -> None:
    with pytest.raises(CommandError, match="command line"):
        call_command("demo")


def test_nothing_of_the_installation_reaches_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIND", "127.0.0.1:18500")
    given = {
        "DATABASE_URL": "postgres://live",
        "SECRET_KEY_FILE": "/run/key",
        "EMAIL_URL": "smtp://live",
        "HOME": "/",
    }
    ours = environment(tmp_path, given)
    assert "live" not in "".join(ours.values())
    assert not {"DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY_FILE"} & set(ours)
    assert (ours["EMAIL_URL"], ours["DATA_DIR"], ours["HOME"]) == ("mailbox:", str(tmp_path), "/")
    assert ours["SITE_URL"] == f"http://{ours['BIND']}"


def test_a_taken_port_gives_way_to_the_next_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_port("127.0.0.1", port) > port


def test_an_earlier_demo_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("feedletter.db", "feedletter.db-wal", "secret_key"):
        (tmp_path / name).touch()
    make_folder_fresh(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["lock", "secret_key"]


def test_the_replay_looks_often_and_every_ten_minutes_at_a_fresh_post() -> None:
    moments = steps(NOW, Blog(TODAY).moments())
    assert (moments[0], moments[-1]) == (beginning(NOW), NOW)
    assert max(later - earlier for earlier, later in itertools.pairwise(moments)) <= 300 * MINUTE
    looks = {moment.astimezone(ZONE).replace(minute=0, second=0) for moment in moments}
    for day in sorted({look.date() for look in looks})[1:-1]:
        assert {look.hour for look in looks if look.date() == day} >= {7, 18}, "newsletters go out then"
    fridays = [look for look in looks if look.weekday() == 4]
    assert sum(look.hour == 16 for look in fridays) == len({look.date() for look in fridays})
    published = CORRECTED.published(TODAY)
    near = [moment for moment in moments if published < moment <= published + 60 * MINUTE]
    assert len(near) >= 6
    parts = list(weeks(moments, NOW))
    assert len(parts) == WEEKS
    assert [moment for part in parts for moment in part] == moments


def test_subscribers_are_the_same_on_each_day_and_grow_faster_and_faster() -> None:
    first, second = people(NOW), people(NOW + 24 * 60 * MINUTE)
    assert [one.email for one in first] == [one.email for one in second]
    assert len({one.email for one in first}) == PEOPLE
    came = sorted(one.came for one in first)
    middle = came[0] + (came[-1] - came[0]) / 2
    assert came[-1] < NOW
    assert sum(at > middle for at in came) > PEOPLE / 2
    assert all(one.came < one.left < NOW for one in first if one.left)


def test_the_neighbours_feed_fails_in_the_last_days() -> None:
    blog = Blog(TODAY)
    with BlogServer(blog, lambda: NOW - timedelta(days=5)) as server:
        assert (server.answer(LIGHTHOUSE_FEED)[0], len(blog.lighthouse(NOW))) == (200, 3)
        server.clock = lambda: NOW
        assert server.answer(LIGHTHOUSE_FEED)[0] == 503


@pytest.mark.parametrize("scene", some_now(SCENES))
def test_pictures_of_looks_are_small(scene: str) -> None:
    assert len(photograph(scene).data) < 60_000


def test_the_logo_is_a_small_picture() -> None:
    assert len(images.logo()) < 20_000


@pytest.mark.django_db
def test_a_link_signs_in_once_within_an_hour(tmp_path: Path, settings: Settings, rf: RequestFactory) -> None:
    settings.DATA_DIR = str(tmp_path)
    user = User.objects.create_superuser("admin")
    now = utcnow()
    with override_settings(ROOT_URLCONF="demo.urls"):
        paths = [offer_sign_in(user, "/mailbox/", now=at) for at in (now, now - LIFE)]
    fresh, late = (path.rstrip("/").rpartition("/")[2] for path in paths)
    assert not [file for file in (tmp_path / LINKS).iterdir() if fresh in file.name + file.read_text()]
    for token, signs_in in ((fresh, True), (fresh, False), (late, False), ("wrong", False)):
        request = rf.get("/")
        SessionMiddleware(lambda _: HttpResponse()).process_request(request)
        answer = sign_in(request, token)
        assert answer.status_code == 302
        assert (request.session.get("_auth_user_id") == str(user.pk)) is signs_in


def test_only_a_demo_has_the_page_that_signs_in() -> None:
    with pytest.raises(NoReverseMatch):
        reverse("demo_sign_in", args=["token"])


@pytest.mark.slow
@pytest.mark.django_db
def test_newsletters_have_three_looks_and_one_shows_excerpts() -> None:
    rows = define_all(FeedFactory(), now=NOW)
    dress_newsletters(rows)
    assert set(Theme.objects.values_list("style", flat=True)) == set(Theme.Style.values)
    assert [row.name for row in rows if row.content != Subscribable.Content.FULL] == ["harbour-monthly"]


def titles(now: datetime) -> list[str]:
    return [page.title for page in Blog(TODAY).pages(now)]


def test_a_post_appears_is_corrected_or_withdrawn_in_its_time() -> None:
    blog = Blog(TODAY)
    published = CORRECTED.published(TODAY)
    assert CORRECTED.title not in titles(published - MINUTE)
    bodies = [blog.pages(published + age * MINUTE)[0].body for age in (0, 11, 12)]
    assert bodies == [CORRECTED.first_body, CORRECTED.first_body, CORRECTED.body]
    gone = WITHDRAWN.published(TODAY)
    assert WITHDRAWN.title in titles(gone + 19 * MINUTE)
    assert WITHDRAWN.title not in titles(gone + 20 * MINUTE)


def test_the_feed_reads_well_and_says_the_same_for_the_same_posts() -> None:
    shown = Blog(TODAY).pages(NOW)
    body = pages.feed(shown, "http://127.0.0.1:1")
    assert body == pages.feed(shown, "http://127.0.0.1:1")
    parsed = parse(body, content_type="application/rss+xml", url="http://127.0.0.1:1/feed.xml")
    assert parsed.warnings == ()
    assert [entry.title for entry in parsed.entries] == [page.title for page in shown[:IN_FEED]]
    for entry, page in zip(parsed.entries, shown, strict=False):
        assert (entry.published, entry.authors, entry.categories) == (
            page.published,
            (page.author,),
            page.tags,
        )


def test_a_new_note_appears_every_three_minutes_and_their_number_is_bounded() -> None:
    blog = Blog(TODAY, live_from=NOW)
    before, later = blog.pages(NOW), blog.pages(NOW + 2 * LIVE_EVERY)
    assert len(later) == len(before) + 2
    assert later[0].published > NOW
    month = blog.pages(NOW + timedelta(days=30))
    assert len(month) < 100
    assert len({page.slug for page in month}) == len(month)


def test_the_sample_blog_answers_on_loopback() -> None:
    server = BlogServer(Blog(TODAY), lambda: NOW)
    with server.in_thread():
        assert answers(f"{server.url}/")
        assert answers(f"{server.url}/{CORRECTED.slug}/")
        assert not answers(f"{server.url}/{WITHDRAWN.slug}/")
        assert answers(f"{server.url}/images/{CORRECTED.slug}.jpg")


@pytest.mark.parametrize("scene", SCENES)
def test_pictures_are_small_and_come_with_words(scene: str) -> None:
    picture = images.jpeg(scene, "seed")
    assert picture.startswith(b"\xff\xd8")
    assert len(picture) < 30_000
    assert picture == images.jpeg.__wrapped__(scene, "seed")
    assert all(post.alt and post.scene in SCENES for post in BLOG_POSTS if post.scene)
