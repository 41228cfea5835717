"""Old issues in the archive: imported once, found there, never sent, and removed again."""

import io
import json
import zipfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from common.clock import utcnow
from common.net.client import FetchError
from common.passes import TimeBudget
from common.pictures.picture import MOST_SIDE
from common.ports.panels import CannotAct
from common.refused import Refused
from common.uploads import LEASE, NotPossible, claim
from delivery.issues import progress
from delivery.issues.pause import cancel_issue, pause_issue
from delivery.issues.publish import finish_issues, late_subscribers, send_late
from delivery.letters.notices import take_notices
from delivery.models import Delivery, Issue, IssueImport, IssueImportPicture, IssueItem, WebhookCall
from delivery.old_issues import store, worker
from delivery.old_issues.worker import begin_taking, begin_undoing, upload, work_off_issue_imports
from delivery.privacy.retention import prune_old_data
from delivery.rules.progress import STATES
from delivery.work import to_complete, to_import, to_send
from feedletter_site.monitoring.figures import newest_issues
from subscriptions.models import Picture, Subscribable
from subscriptions.subscribers.notices import LATEST
from tests.console import printed
from tests.delivery.old_issues.exports import TAKEN, export
from tests.factories import BridgeFactory, NoticeFactory, SubscribableFactory, SubscriptionFactory, an_issue
from tests.feeds.conftest import server
from tests.pictures import drawn, octets_of
from tests.servers.feed_server import FeedServer

__all__ = ["server"]
pytestmark = pytest.mark.django_db
LONG = timedelta(minutes=5)
LINK = IssueImport.Pictures.LINK


@pytest.fixture
def pier() -> Subscribable:
    made: Subscribable = SubscribableFactory(name="pier", time_zone="Europe/Berlin")
    return made


def uploaded(newsletter: Any, data: bytes, **choices: Any) -> IssueImport:
    choices = {"pictures": LINK, **choices}
    return upload(
        subscribable=newsletter, name="export.zip", pieces=[data], by="ada", now=utcnow(), **choices
    )


def imported(newsletter: Any, name: str | bytes, **choices: Any) -> IssueImport:
    row = uploaded(newsletter, export(name) if isinstance(name, str) else name, **choices)
    work_off_issue_imports(budget=LONG)
    row.refresh_from_db()
    assert row.state == "looked", row.trouble
    assert not row.issues.exists()
    begin_taking(row, now=utcnow())
    work_off_issue_imports(budget=LONG)
    row.refresh_from_db()
    assert row.state == "done", row.trouble
    return row


def titles(newsletter: Any) -> list[str]:
    return list(newsletter.issues.order_by("published_at", "pk").values_list("title", flat=True))


def results(row: IssueImport) -> Counter[str]:
    return Counter(row.lines.values_list("result", flat=True))


@pytest.mark.parametrize("name", TAKEN)
def test_the_past_of_a_publication_is_in_its_archive_and_feed(name: str, pier: Any, client: Client) -> None:
    SubscriptionFactory.create_batch(2, subscribable=pier)
    new = an_issue(subscribable=pier, posts=1)
    row = imported(pier, name)
    assert titles(pier)[:-1] == TAKEN[name]
    listed = client.get("/s/pier/archive/").content.decode()
    feed = client.get("/s/pier/feed.xml").content.decode()
    for title in (*TAKEN[name], new.title):
        assert title in listed
        assert title in feed
    assert feed.index(new.title) < feed.index(TAKEN[name][-1]) < feed.index(TAKEN[name][0])
    oldest = row.issues.order_by("published_at")[0]
    page = client.get(f"/s/pier/archive/{oldest.pk}/").content.decode()
    assert TAKEN[name][0] in page
    assert "<script>alert" not in page
    assert not Delivery.objects.exists()


def test_old_issues_are_found_by_their_words(pier: Any, client: Client) -> None:
    imported(pier, "buttondown")
    found = client.get("/s/pier/archive/?q=lighthouse").content.decode()
    assert "A plain email" in found
    assert "A fancy email" not in found


def test_nothing_is_sent_and_no_figure_changes(pier: Any) -> None:
    SubscriptionFactory.create_batch(2, subscribable=pier)
    imported(pier, "substack")
    now = utcnow()
    assert not any(rows.exists() for rows in (*to_complete(now), *to_send(now), *to_import(now)))
    assert not finish_issues(now=now)
    assert not Delivery.objects.exists()
    assert not WebhookCall.objects.exists()
    assert not newest_issues()
    assert not progress.newest_of_each([pier.pk])
    kept = Issue.objects.values_list("pk", "pruned_at")
    before = set(kept)
    prune_old_data(now=now + timedelta(days=9_000))
    assert set(kept) == before


def test_an_old_issue_can_not_be_sent_paused_or_cancelled(pier: Any) -> None:
    SubscriptionFactory(subscribable=pier)
    issue = imported(pier, "substack").issues.all()[0]
    assert progress.issue_state(issue, Counter()) == "imported"
    assert not late_subscribers(issue).exists()
    for act in (send_late, pause_issue, cancel_issue):
        with pytest.raises(CannotAct, match="another program"):
            act(issue_id=issue.pk, now=utcnow())
    every = Issue.objects.all()
    states = {state: progress.in_state(every, state).count() for state in STATES}
    assert {state for state, count in states.items() if count} == {"imported"}
    assert not Delivery.objects.exists()


def test_a_new_subscriber_is_not_welcomed_with_an_old_issue(pier: Any) -> None:
    imported(pier, "substack")
    reader = SubscriptionFactory(subscribable=pier)
    NoticeFactory(subscription=reader, kind=LATEST)
    take_notices(now=utcnow())
    assert not Delivery.objects.filter(issue__isnull=False).exists()


def test_twice_is_once(pier: Any) -> None:
    first = imported(pier, "ghost.json")
    count = pier.issues.count()
    again = imported(pier, "ghost.json")
    assert pier.issues.count() == count
    assert results(again) == {"there": 2, "refused": 3}
    # Another newsletter has its own past.
    assert imported(SubscribableFactory(), "ghost.json").issues.count() == count
    assert results(first)["taken"] + results(first)["changed"] == 2


def test_a_killed_worker_leaves_nothing_twice_and_nothing_out(
    pier: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = uploaded(pier, export("substack"))
    work_off_issue_imports(budget=LONG)
    begin_taking(row, now=utcnow())
    stored = store.store

    def killed(*args: Any, **more: Any) -> Any:
        stored(*args, **more)
        raise KeyboardInterrupt

    for expected in (0, 0):
        monkeypatch.setattr(store, "store", killed)
        with pytest.raises(KeyboardInterrupt):
            work_off_issue_imports(budget=LONG)
        assert pier.issues.count() == expected
        IssueImport.objects.update(lease_until=utcnow() - LEASE)
    monkeypatch.setattr(store, "store", stored)
    # Another one stops after one issue.
    spent = iter([False, True, True])
    with monkeypatch.context() as short:
        short.setattr(TimeBudget, "is_spent", property(lambda self: next(spent)))
        work_off_issue_imports(budget=LONG)
    assert pier.issues.count() == 1
    work_off_issue_imports(budget=LONG)
    row.refresh_from_db()
    assert (row.state, row.done) == ("done", 2)
    assert titles(pier) == TAKEN["substack"]
    assert row.lines.count() == 6


def test_a_worker_that_lost_its_lease_stores_nothing(pier: Any) -> None:
    row = uploaded(pier, export("substack"))
    work_off_issue_imports(budget=LONG)
    begin_taking(row, now=utcnow())
    late = claim(IssueImport, now=utcnow() - LEASE * 2)
    assert late
    assert claim(IssueImport, now=utcnow())
    worker._work(late, TimeBudget(LONG))
    assert not pier.issues.exists()


def test_an_import_is_undone(pier: Any, client: Client) -> None:
    mine = an_issue(subscribable=pier, posts=1)
    first, second = imported(pier, "substack"), imported(pier, "ghost.json")
    gone = first.issues.all()[0].pk
    begin_undoing(first, now=utcnow())
    work_off_issue_imports(budget=LONG)
    first.refresh_from_db()
    assert first.state == "undone"
    assert titles(pier) == [*TAKEN["ghost.json"], mine.title]
    assert client.get(f"/s/pier/archive/{gone}/").status_code == 404
    with pytest.raises(NotPossible):
        begin_undoing(first, now=utcnow())
    # It can be imported again, and is forgotten only once its issues are gone.
    imported(pier, "substack")
    old = IssueImport.forgettable(utcnow() + IssueImport.KEPT_FOR * 2)
    assert set(old) == {first}
    old.delete()
    assert second.issues.count() == 2


def test_a_newsletter_is_deleted_with_its_old_issues(pier: Any) -> None:
    imported(pier, "substack")
    pier.delete()
    assert not IssueImport.objects.exists()
    assert not Issue.objects.exists()


def test_pictures_are_copied_once_and_served_from_here(
    pier: Any, server: FeedServer, client: Client, settings: Any
) -> None:
    boat = server.serve("/boat.png", octets_of(drawn(2000, 100)))
    lost = server.url("/lost.png")
    html = (
        f'<p>Look:</p><a href="{boat}"><img src="{boat}?a=1&amp;b=2" alt="A boat"></a>'
        f'<img src="{lost}" alt="Lost"><img src="{boat}?a=1&amp;b=2" alt="Again">'
    )
    server.serve("/boat.png?a=1&b=2", octets_of(drawn(2000, 100)))
    posts = (
        "post_id,post_date,is_published,email_sent_at,type,audience,title\n"
        "1.x,2021-03-05T09:00:00Z,true,2021-03-05T09:00:00Z,newsletter,everyone,X\n"
        "2.y,2021-03-06T09:00:00Z,true,2021-03-06T09:00:00Z,newsletter,everyone,Y\n"
    )
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w") as file:
        file.writestr("posts.csv", posts)
        file.writestr("posts/1.x.html", html)
        file.writestr("posts/2.y.html", html)
    row = imported(pier, room.getvalue(), pictures=IssueImport.Pictures.KEEP)
    assert len(server.requests) == 2
    (picture,) = Picture.objects.all()
    assert picture.width == MOST_SIDE
    assert results(row) == {"changed": 2}
    assert row.lines.all()[0].words == "Not copied, and still at the old address: 1 picture."
    entry = row.issues.all()[0].issue_items.get().entry
    url = f"{settings.SITE_URL}/pictures/{picture.name}"
    assert entry["content"].count(f'src="{url}"') == 2
    assert f'href="{url}"' in entry["content"]
    assert lost in entry["content"]
    assert client.get(f"/pictures/{picture.name}").status_code == 200
    begin_undoing(row, now=utcnow())
    work_off_issue_imports(budget=LONG)
    assert not Picture.objects.exists()
    assert not IssueImportPicture.objects.exists()


def test_hosts_that_do_not_answer_are_soon_left_alone(pier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def no_answer(address: str, **more: Any) -> Any:
        asked.append(address)
        raise FetchError("no")

    monkeypatch.setattr(store, "client", lambda: type("Away", (), {"get": staticmethod(no_answer)}))
    html = "".join(f'<img src="https://away.example/{number}.png" alt="">' for number in range(80))
    keeper = store.PictureKeeper(IssueImport.objects.create(subscribable=pier), lambda: None)
    kept = keeper.kept(html)
    assert len(asked) == store.MOST_FAILURES_OF_HOST
    assert kept == (html, 80)


def test_what_is_no_export_is_told(pier: Any) -> None:
    row = uploaded(pier, b"Dear diary")
    work_off_issue_imports(budget=LONG)
    row.refresh_from_db()
    assert row.state == "unusable"
    assert row.trouble.startswith("This isn’t an export")
    assert not row.pieces.exists()


def test_bridges_have_no_archive() -> None:
    with pytest.raises(Refused, match="bridge"):
        uploaded(BridgeFactory(), b"")


def test_the_command_previews_imports_and_undoes(pier: Any, tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    file.write_bytes(export("substack"))
    shown = printed("import_issues", "pier", str(file), "--pictures", "link", "--dry-run")
    assert "Nothing was changed." in shown
    assert "Low tide" in shown
    assert not pier.issues.exists()
    assert not IssueImport.objects.exists()
    said = printed("import_issues", "pier", str(file), "--pictures", "link")
    row = IssueImport.objects.get()
    assert f"--undo {row.pk}" in said
    assert (row.state, row.done, row.issues.count()) == ("done", 2, 2)
    assert "2 here already" in printed("import_issues", "pier", str(file), "--pictures", "link")
    assert "2 issues deleted" in printed("import_issues", "pier", "--undo", str(row.pk))
    assert not pier.issues.exists()


def test_a_private_issue_is_on_no_page_in_no_feed_and_no_search(pier: Any, client: Client) -> None:
    posts = [
        {"title": title, "slug": title, "uuid": title, "status": "published", "html": "<p>Doorcode.</p>"}
        | {"published_at": "2023-01-02", "visibility": visibility}
        for title, visibility in (("Open", "public"), ("Hidden", "members"))
    ]
    data = json.dumps({"db": [{"data": {"posts": posts}}]}).encode()
    refused = imported(pier, data)
    assert refused.lines.get(title="Hidden").words.startswith("It was private")
    row = imported(pier, data, with_private=True)
    assert titles(pier) == ["Open", "Hidden"]
    assert row.lines.get(title="Hidden").words == "Private: only the admin shows it."
    hidden = pier.issues.get(title="Hidden")
    assert client.get(f"/s/pier/archive/{hidden.pk}/").status_code == 404
    for path in (
        "/s/pier/archive/",
        "/s/pier/archive/?q=doorcode",
        "/s/pier/feed.xml",
        "/s/pier/",
        "/sitemap.xml",
    ):
        assert "Hidden" not in client.get(path).content.decode()


def linked(**links: str) -> bytes:
    """Return an export of Substack, each of whose issues links to an address."""
    head = "post_id,post_date,is_published,email_sent_at,type,audience,title,subtitle,podcast_url\n"
    rows = "".join(
        f"{number}.{slug},2021-03-0{number}T09:00:00Z,true,,newsletter,everyone,{slug},,\n"
        for number, slug in enumerate(links, 1)
    )
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w") as file:
        file.writestr("posts.csv", head + rows)
        for number, (slug, link) in enumerate(links.items(), 1):
            file.writestr(f"posts/{number}.{slug}.html", f'<p><a href="{link}">there</a></p>')
    return room.getvalue()


def test_links_between_old_issues_lead_here_and_the_rest_is_listed(pier: Any, client: Client) -> None:
    old = "https://pier.substack.com/p"
    row = imported(
        pier,
        linked(
            one=f"{old}/two?utm_source=x#note",
            two=f"{old}/One",
            three="https://other.substack.com/p/one",
            four=f"{old}/lost",
        ),
    )
    numbers = dict(pier.issues.values_list("title", "pk"))
    texts = {each.issue.title: each.entry["content"] for each in IssueItem.objects.select_related("issue")}
    assert f"/s/pier/archive/{numbers['two']}/" in texts["one"]
    assert f"/s/pier/archive/{numbers['one']}/" in texts["two"]
    assert "https://other.substack.com/p/one" in texts["three"]
    assert f"{old}/lost" in texts["four"]
    (words,) = row.lines.filter(words__contains="old site").values_list("words", flat=True)
    assert words == f"Links that lead to the old site: {old}/lost."


def test_links_between_posts_of_wordpress_lead_here(pier: Any) -> None:
    """Its addresses have dates, or only numbers."""
    row = imported(pier, "wordpress")
    assert row.address == "https://pier.example"
    fog, ropes = pier.issues.order_by("published_at")
    texts = [each.entry["content"] for each in IssueItem.objects.order_by("issue__published_at")]
    assert f"/s/pier/archive/{ropes.pk}/" in texts[0]
    assert f"/s/pier/archive/{fog.pk}/" in texts[1]


def test_links_to_issues_that_come_later_are_mended_by_a_later_import(pier: Any) -> None:
    old = "https://pier.substack.com/p"
    imported(pier, linked(one=f"{old}/three", two=f"{old}/one"))
    imported(pier, linked(one=f"{old}/three", two=f"{old}/one", three=f"{old}/two"))
    texts = [each.entry["content"] for each in IssueItem.objects.all()]
    assert len(texts) == 3
    assert not [text for text in texts if "substack" in text]
