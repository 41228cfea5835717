"""Import from the Scala feedletter: what it sent is never sent again, and what waited is sent once."""

import io
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command

from common.refused import Refused
from delivery.models import MailboxMessage
from feedletter_site.migrate_from import feeds
from feeds.models import Feed, Item
from migrate_from.feedletter.dump import read_database, read_dump
from migrate_from.feedletter.rows import moment
from subscriptions.models import Assignment, Subscribable, Subscription
from subscriptions.rules.sign_up import NUMBERS_EACH
from tests.servers.feed_server import FeedServer
from tests.site.migrate_from.feedletter_dump import (
    FILES,
    NAMES,
    NEWSLETTERS,
    NOW,
    OLD_FEEDS,
    ZONE,
    dump,
    run,
    sent,
    site,
    start_all,
    texts_of,
)
from tests.site.migrate_from.test_cordfeeder import everything, rounds, words

__all__ = ["dump", "site"]
pytestmark = pytest.mark.django_db


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_exactly_what_waited_and_what_is_new_is_sent(site: FeedServer, dump: Path) -> None:
    run(dump)
    newsletters = list(Subscribable.objects.order_by("name"))
    assert [each.name for each in newsletters] == NAMES
    assert all(each.sending_paused_at for each in newsletters)
    assert {each.visibility for each in newsletters} == {"unlisted"}
    rounds(3, begin=NOW)
    assert not MailboxMessage.objects.exists()
    new = Item.objects.filter(state__in=("unassigned", "assigned", "cleared"), first_seen__gte=NOW)
    assert sorted(new.values_list("guid", flat=True)) == [
        "feedletter-synthetic:https://bare.example.net/6",
        "https://blog.example.org/river/8/",
        "https://blog.example.org/river/8/",
        "tag:harbour.example.net,2026:9",
    ]
    start_all()
    rounds(6, begin=NOW + timedelta(hours=1))
    for day in range(1, 9):
        rounds(1, begin=NOW + timedelta(days=day))
    posts = [(name, address) for name, _title, address in sent()]
    assert len(posts) == len(set(sent()))
    by_newsletter = {name: {title for each, title, _ in sent() if each == name} for name in NEWSLETTERS}
    assert by_newsletter["river"] == {"Post 6, still changing", "Post 8"}
    assert by_newsletter["bare"] == {"B 6"}
    assert by_newsletter["never-sent"] == set()  # it has no subscribers
    bodies = {name: texts_of(name) for name in NEWSLETTERS}
    assert "Post 5" in bodies["river-weekly"]
    assert "Post 4" not in bodies["river-weekly"]
    assert "Harbour 8" in bodies["harbour-daily"]
    assert "December" not in bodies["harbour-daily"]
    assert all(f"Harbour {number}" in bodies["harbour-three"] for number in (7, 8, 9))
    assert bodies["bare-fixed"] == ""  # a single post of two


def test_people_keep_their_numbers_names_and_status(dump: Path) -> None:
    facts = run(dump)
    river = Subscription.objects.filter(subscribable__name="river").order_by("pk")
    rows = {each.destination.core: each for each in river.select_related("destination")}
    assert set(rows) == {
        "zoe@example.org",
        "bob@example.com",
        "carla@xn--mnchen-3ya.example",
        "new@example.org",
    }
    zoe, bob = rows["zoe@example.org"], rows["bob@example.com"]
    assert {zoe.upstream_id, *zoe.old_numbers.values_list("number", flat=True)} == {3, 7}
    assert bob.display_name == 'Bob "the $1 \\ man", jr.'
    assert bob.added_at == datetime(2026, 5, 6, 0, 2, 11, tzinfo=UTC)
    assert rows["new@example.org"].status == "unconfirmed"
    assert {row.status for row in rows.values()} == {"confirmed", "unconfirmed"}
    assert Subscription.objects.get(upstream_id=9_000_000_001).destination.core == "last@example.org"
    assert "odd one" in str([line for line in facts["lines"] if line["what"] == "not taken"])
    assert "+15550100" in str([line for line in facts["lines"] if line["what"] == "not taken"])


def test_the_report_names_every_trap(dump: Path) -> None:
    facts = run(dump, "--dry-run")
    refused, changed = words(facts, "not taken"), words(facts, "changed")
    everything_refused = str([line for line in facts["lines"] if line["what"] == "not taken"])
    assert "never got this newsletter" in refused
    assert "2026-day362" in refused
    assert "issue 4" in refused
    assert everything_refused.count("waits in a queue") == 4
    assert "It was never sent. After the import, send ours" in changed
    assert "river-masto (mothership)" in changed
    assert "river-bsky (blog.example.org)" in changed
    assert "post.script" in everything_refused
    assert "mine.harbour_html" in changed
    assert "starter." not in changed
    notes = "\n".join(facts["notes"])
    assert "https://letters.example.org" in notes
    assert "CONFIRM_HOURS=72" in notes
    assert "600 emails an hour" in notes
    assert "2026-11-22 at 00:01 UTC" in notes


def test_a_zone_that_cannot_be_right_is_refused(dump: Path) -> None:
    with pytest.raises(CommandError, match=r"^Pacific/Honolulu can’t be the time zone.*in the future"):
        call_command("migrate_from", "feedletter", str(dump), "--zone", "Pacific/Honolulu")
    with pytest.raises(CommandError, match="--zone: give the time zone"):
        call_command("migrate_from", "feedletter", str(dump))


@pytest.mark.slow
def test_a_dry_run_changes_no_row_and_a_second_run_takes_nothing_again(dump: Path) -> None:
    before = everything()
    facts = run(dump, "--read")
    assert everything() == before
    new = sorted(line["name"] for line in facts["lines"] if line["what"] == "new")
    assert new == ["B 6", "Harbour 9", "Post 6, still changing", "Post 8", "Post 8"]
    run(dump)
    once = everything()
    again = run(dump)
    assert everything() == once
    assert again["counts"]["taken"] == 0
    assert again["counts"]["there already"] == 4


def test_feeds_of_another_database_are_imported_although_their_numbers_are_the_same(
    dump: Path, site: FeedServer, tmp_path: Path
) -> None:
    run(dump)
    text = dump.read_text()
    for name in OLD_FEEDS:
        site.serve(f"/other/{name}", (FILES / "feeds" / name).read_text())
        text = text.replace(site.url(f"/{name}"), site.url(f"/other/{name}"))
    dump.write_text(text)
    secrets = tmp_path / "secrets"
    secrets.write_text("feedletter.secret.salt=another")
    facts = run(dump, "--secrets", str(secrets))
    assert facts["counts"]["there already"] == 0
    numbers = {"river": 3, "river-2": 3 + NUMBERS_EACH}
    for name, number in numbers.items():
        assert Subscription.objects.get(upstream_id=number).subscribable.name == name


def test_the_same_feeds_are_known_by_another_time_zone(dump: Path) -> None:
    run(dump)
    again = run(dump, "--zone", "Europe/London")
    assert again["counts"]["there already"] == 4


def test_a_run_that_is_cut_off_leaves_whole_feeds_and_the_next_goes_on(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count()

    def cut_off(**_values: Any) -> None:
        if next(calls) == 3:
            raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(feeds, "pause_newsletter", cut_off)
        with pytest.raises(RuntimeError):
            run(dump)
    assert Feed.objects.count() == 1
    assert sorted(Subscribable.objects.values_list("name", flat=True)) == ["river", "river-weekly"]
    run(dump)
    assert sorted(Subscribable.objects.values_list("name", flat=True)) == NAMES


def test_open_issues_keep_their_posts_and_old_ones_are_left_out_unless_asked(dump: Path) -> None:
    run(dump)
    open_posts = Assignment.objects.order_by("assignable__subscribable__name", "item__guid")
    assert [
        (row.assignable.subscribable.name, row.item.guid.rpartition(":")[2].rpartition("river/")[2])
        for row in open_posts
    ] == [("harbour-daily", "8"), ("harbour-three", "7"), ("harbour-three", "8"), ("river-weekly", "5/")]
    weekly = open_posts.last()
    assert weekly is not None
    paris = ZoneInfo("Europe/Paris")
    start, end = weekly.assignable.period_start, weekly.assignable.period_end
    assert (start, end) == (datetime(2026, 11, 18, tzinfo=paris), datetime(2026, 11, 25, tzinfo=paris))
    assert Subscribable.objects.get(name="harbour-three").counter == 8
    assert Subscribable.objects.get(name="bare-fixed").counter == 5
    assert Item.objects.get(guid__endswith=":dec").state == "excluded"


def test_stale_issues_are_sent_if_asked(dump: Path) -> None:
    run(dump, "--stale", "send")
    assert Assignment.objects.filter(item__guid__endswith=":dec").exists()
    assert Assignment.objects.filter(assignable__subscribable__name="bare-fixed").count() == 3


def test_an_hour_that_exists_twice_is_told_by_the_order_of_rows() -> None:
    zone, text = ZoneInfo(ZONE), "2026-11-01 01:30:00"
    first = moment(text, zone)
    assert first == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    assert moment(text, zone, after=first) == first + timedelta(hours=1)
    assert moment("2026-11-02 01:30:00", zone, after=first) == datetime(2026, 11, 2, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace("SchemaVersion\t2", "SchemaVersion\t7"), "schema version is 7"),
        (lambda text: text[: text.index("COPY public.mailable_template")], "no table"),
        (lambda text: text[: text.index("tag:harbour.example.net,2026:7")], "cut off|damaged"),
        (lambda text: "SELECT 1;", "isn’t feedletter’s database"),
    ],
)
def test_another_or_a_damaged_dump_is_refused(dump: Path, change: Any, why: str) -> None:
    dump.write_text(change(dump.read_text()))
    with pytest.raises(CommandError, match=why):
        run(dump)


def test_values_are_read_as_copy_writes_them() -> None:
    row = "1\thttps://a.example/\\t\\\\\\x41\\101\t0\t0\t0\t0\t\\N\tb\\nc\n"
    text = (FILES / "dump.sql").read_text()
    start = text.index("COPY public.feed ")
    head = text[start : text.index("\n", start) + 1]
    text = text[:start] + head + row + text[text.index("\\.", start) :]
    (feed,) = read_dump(io.StringIO(text))["feed"]
    assert feed["url"] == "https://a.example/\t\\AA"
    assert (feed["added"], feed["last_assigned"]) == (None, "b\nc")


def test_an_unreachable_database_is_refused() -> None:
    with pytest.raises(Refused, match="can’t be read"):
        read_database("postgresql://nobody@127.0.0.1:9/nothing")
