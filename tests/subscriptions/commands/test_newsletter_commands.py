"""Commands about newsletters and their rules.

add_rule, list_rules, drop_rule, try_rules, and the options for hooks, order and maximum.
"""

import json
import shlex
from datetime import UTC, datetime, time
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from subscriptions.admin.newsletter_panels import define_command
from subscriptions.models import Assignment, PostRule, Subscribable
from tests.console import json_of, refused
from tests.examples import some_now
from tests.factories import (
    AssignableFactory,
    AssignmentFactory,
    DailyFactory,
    FeedFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
    an_entry,
)
from tests.feeds.documents import a_feed_of

pytestmark = pytest.mark.django_db
KEYS = [
    *("name", "title", "channel", "arrangement", "time_zone", "feeds", "subscribers", "open", "next_close"),
    "rhythm",
]
END = datetime(2026, 3, 9, 7, tzinfo=UTC)


def test_define_subscribable_takes_the_options_of_its_arrangement() -> None:
    one, two = FeedFactory.create_batch(2)
    words = (
        "--arrangement weekly --at 07:00 --weekday monday --time-zone America/New_York --visibility unlisted"
    )
    row = json_of(
        "define_subscribable", "my-weekly", "--feed", str(one.pk), "--feed", str(two.pk), *words.split(),
        "--from", "Blog <letters@example.org>", "--title", "My Weekly", "--sign-up", "closed",
        "--param", "Motto=a=b",
    )  # fmt: skip
    assert list(row) == KEYS
    assert [row[key] for key in KEYS[:5]] == ["my-weekly", "My Weekly", "email", "weekly", "America/New_York"]
    assert [row[key] for key in KEYS[5:8]] == [[one.pk, two.pk], 0, 0]
    made = Subscribable.objects.get()
    assert (made.at, made.weekday, made.visibility, made.sign_up) == (time(7), 0, "unlisted", "closed")
    assert (made.from_email, made.params) == ("Blog <letters@example.org>", {"Motto": "a=b"})


def test_a_newsletter_can_begin_with_the_last_posts_of_its_feed() -> None:
    entries = [an_entry(number) for number in (1, 2, 3)]
    feed = a_feed_of(reversed(entries))
    for entry in entries:
        ItemFactory(feed=feed, guid=entry.guid, state="cleared", entry=None, content_hash="")
    words = "--arrangement weekly --at 07:00 --weekday monday --last 2"
    assert json_of("define_subscribable", "x", "--feed", str(feed.pk), *words.split())["open"] == 1
    posts = Assignment.objects.values_list("item__guid", flat=True)
    assert set(posts) == {entries[1].guid, entries[2].guid}


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("--arrangement monthly --day-of-month 31", "day_of_month", 31),
        ("--arrangement every_n --n 4 --max-wait-days 9", "n", 4),
        ("--arrangement daily --at 23:59", "at", time(23, 59)),
        ("--arrangement weekly --weekday SUN", "weekday", 6),
        ("--channel email", "arrangement", "each"),
    ],
)
def test_each_arrangement_has_its_options(words: str, field: str, value: object) -> None:
    json_of("define_subscribable", "x", "--feed", str(FeedFactory().pk), *words.split())
    assert getattr(Subscribable.objects.get(), field) == value


def test_a_letter_on_several_weekdays_is_defined_without_cron_and_its_command_says_the_same() -> None:
    feed = FeedFactory()
    words = "--arrangement weekly --weekday monday --weekday thursday --at 18:00"
    row = json_of("define_subscribable", "x", "--feed", str(feed.pk), *words.split())
    assert row["rhythm"] == "every Monday and Thursday at 18:00, UTC"
    made = Subscribable.objects.get()
    assert made.cron == "0 18 * * 1,4"
    assert "--arrangement weekly --at 18:00 --weekday monday --weekday thursday" in define_command(made)


@pytest.mark.parametrize(
    "words",
    [
        "--arrangement daily --at 07:30 --time-zone=Europe/Paris",
        "--arrangement monthly --at 18:00 --day-of-month 31",
        "--arrangement cron '--cron=0 7 1,15 * *' '--title=Twice a month'",
        "--arrangement every_n --n 3 --max-wait-days 7 --content=excerpt",
        "--arrangement each --embed-host=blog.example --embed-host=news.example",
    ],
)
def test_the_command_on_a_newsletters_page_defines_the_same_again(words: str) -> None:
    feed = str(FeedFactory().pk)
    json_of("define_subscribable", "x", "--feed", feed, *shlex.split(words))
    first = Subscribable.objects.get()
    said = shlex.split(define_command(first))
    assert said == ["manage.py", "define_subscribable", "x", "--feed", feed, *shlex.split(words)]
    said[2] = "y"
    json_of(*said[1:])
    second = Subscribable.objects.get(name="y")
    assert define_command(second) == define_command(first).replace(" x ", " y ", 1)


def test_a_cron_line_is_taken() -> None:
    json_of(
        "define_subscribable",
        "x",
        "--feed",
        str(FeedFactory().pk),
        "--arrangement",
        "cron",
        "--cron",
        "0 7 * * 1,4",
    )
    assert Subscribable.objects.get().cron == "0 7 * * 1,4"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--arrangement each --at 07:00", "does not use"),
        ("--arrangement daily --weekday monday", "does not use"),
        ("--arrangement weekly --n 3", "does not use"),
        ("--arrangement every_n", "--n: "),
        ("--arrangement yearly", "invalid choice"),
        ("--arrangement daily --time-zone Mars/Olympus", "--time-zone: "),
        ("--arrangement daily --at 25:00", "hours and minutes, such as 07:00"),
        ("--arrangement weekly --weekday t", "give one of monday, tuesday"),
        ("--arrangement monthly --day-of-month 32", "--day-of-month: "),
        ("--channel pigeon", "--channel: "),
        ("--param novalue", "--param: “novalue” is not of the form key=value"),
        ("--param 1x=y", "--param: "),
        ("--option colour=red", "Email has no option “colour”"),
        ("--template nonsense", "--template: "),
    ],
)
def test_what_cannot_work_is_refused_and_nothing_is_saved(words: str, said: str) -> None:
    assert said in refused("define_subscribable", "x", "--feed", str(FeedFactory().pk), *words.split())
    assert not Subscribable.objects.exists()


@pytest.mark.parametrize(
    ("name", "said"), some_now([("my letter", "NAME: Use 1 to 64 letters"), ("taken", "NAME: ")])
)
def test_a_name_must_be_plain_and_new(name: str, said: str) -> None:
    SubscribableFactory(name="taken")
    assert refused("define_subscribable", name, "--feed", str(FeedFactory().pk)).startswith(said)


def test_a_newsletter_needs_a_feed_that_is_there() -> None:
    assert refused("define_subscribable", "x") == "--feed: Choose at least one feed."
    assert refused("define_subscribable", "x", "--feed", "99").startswith("There is no feed 99.")


def test_list_subscribables_counts_what_is_open_and_confirmed_and_says_when_it_closes() -> None:
    daily = DailyFactory(name="b-daily", feeds=2)
    SubscriptionFactory.create_batch(2, subscribable=daily)
    UnconfirmedFactory(subscribable=daily)
    AssignableFactory(subscribable=daily, period_start=datetime(2026, 3, 8, 7, tzinfo=UTC), period_end=END)
    SubscribableFactory(name="a-each")
    each, row = json_of("list_subscribables")
    assert list(row) == KEYS
    assert (row["subscribers"], row["open"], row["next_close"]) == (2, 1, END.isoformat())
    assert len(row["feeds"]) == 2
    assert (each["name"], each["open"], each["next_close"]) == ("a-each", 0, None)
    assert [one["name"] for one in json_of("list_subscribables", "--after", "a-each")] == ["b-daily"]


def test_an_empty_daily_newsletter_says_when_its_day_ends() -> None:
    DailyFactory(at=time(7))
    (row,) = json_of("list_subscribables")
    assert datetime.fromisoformat(row["next_close"]).time() == time(7)


def test_alter_subscribable_changes_what_was_given() -> None:
    newsletter = DailyFactory(at=time(7), title="Old", params={"a": "1"})
    feed = FeedFactory()
    row = json_of(
        "alter_subscribable",
        newsletter.name,
        "--title",
        "New",
        "--param",
        "b=2",
        "--feed",
        str(feed.pk),
        "--stop",
    )
    assert (row["title"], row["feeds"]) == ("New", [feed.pk])
    newsletter.refresh_from_db()
    assert (newsletter.at, newsletter.params, newsletter.stopped) == (time(7), {"a": "1", "b": "2"}, True)
    json_of("alter_subscribable", newsletter.name, "--resume")
    newsletter.refresh_from_db()
    assert not newsletter.stopped


def test_an_arrangement_may_change_with_its_options() -> None:
    newsletter = DailyFactory()
    json_of("alter_subscribable", newsletter.name, "--arrangement", "every_n", "--n", "5")
    json_of("alter_subscribable", newsletter.name, "--arrangement", "weekly", "--weekday", "friday")
    newsletter.refresh_from_db()
    assert (newsletter.arrangement, newsletter.n, newsletter.weekday) == ("weekly", None, 4)


@pytest.mark.parametrize(
    ("words", "said"), [((), "There is nothing to change"), (("--n", "3"), "does not use")]
)
def test_alter_subscribable_refuses(words: tuple[str, ...], said: str) -> None:
    assert said in refused("alter_subscribable", DailyFactory().name, *words)


def test_set_extra_params_removes_then_sets_and_shows() -> None:
    name = SubscribableFactory(params={"a": "1", "b": "2"}).name
    assert json_of("set_extra_params", name, "a=3", "c=x=y", "--remove", "a", "b") == {
        "name": name,
        "params": {"a": "3", "c": "x=y"},
    }
    assert json_of("set_extra_params", name)["params"] == {"a": "3", "c": "x=y"}


def test_drop_subscribable_with_subscribers_refuses_with_the_count_unless_forced() -> None:
    newsletter = SubscriptionFactory().subscribable
    assert "1 subscriber" in refused("drop_subscribable", newsletter.name)
    assert json_of("drop_subscribable", newsletter.name, "--force")["name"] == newsletter.name
    assert not Subscribable.objects.exists()


def test_drop_feed_with_posts_on_their_way_refuses_unless_forced() -> None:
    item = AssignmentFactory().item
    assert "1 post" in refused("drop_feed", str(item.feed.pk))
    row = json_of("drop_feed", str(item.feed.pk), "--force")
    assert row["id"] == item.feed.pk
    assert "no longer read" in row["message"]


def test_assign_counts() -> None:
    assert json_of("assign", "--all") == {"assigned": 0}


def said(*arguments: str) -> Any:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def weekly() -> Subscribable:
    entries = [an_entry(number, title=title) for number, title in enumerate(("Ad: honey", "Bees", "Queens"))]
    made: Subscribable = SubscribableFactory(name="weekly", title="Weekly", feeds=[a_feed_of(entries)])
    return made


def test_a_rule_is_added_listed_and_taken_away(weekly: Subscribable) -> None:
    added = said("add_rule", "weekly", "--drop", "--field", "title", "--contains", "ad:")
    assert added["rule"] == "Leave out posts whose title contains “ad:”."
    assert said("list_rules", "weekly") == [added]
    assert said("drop_rule", str(added["id"])) == {"id": added["id"], "rule": added["rule"]}
    assert said("list_rules", "weekly") == []


def test_every_kind_of_rule_can_be_written(weekly: Subscribable) -> None:
    said("add_rule", "weekly", "--keep", "--field", "category", "--is", "Bees")
    said("add_rule", "weekly", "--replace", "--matches", "(a)", "--with", r"\1")
    rows = PostRule.objects.values_list("action", "field", "test", "pattern", "replacement")
    assert list(rows) == [
        ("keep", "category", "equals", "Bees", ""),
        ("replace", "any", "matches", "(a)", r"\1"),
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--drop", "--matches", "(a+)+$"], "too long"),
        (["--drop", "--matches", "(a"], "no regular expression"),
        (["--drop", "--contains", "a", "--with", "b"], "--with"),
        (["--contains", "a"], "--drop"),
        (["--drop"], "--contains"),
        (["--replace", "--field", "link", "--contains", "a"], "--field"),
    ],
)
def test_a_rule_that_could_not_work_is_refused_in_a_sentence(
    weekly: Subscribable, arguments: list[str], error: str
) -> None:
    with pytest.raises(CommandError, match=error):
        call_command("add_rule", "weekly", *arguments)
    assert not PostRule.objects.exists()


def test_the_dry_run_says_what_becomes_of_each_post(weekly: Subscribable) -> None:
    said("add_rule", "weekly", "--drop", "--field", "title", "--contains", "ad:")
    said("add_rule", "weekly", "--replace", "--contains", "Queens", "--with", "Kings")
    rows = {row["title"]: row for row in said("try_rules", "weekly")}
    assert rows["Ad: honey"]["kept"] is False
    assert rows["Ad: honey"]["why_not"] == "its title contains “ad:”"
    assert rows["Kings"]["changed_by"] == "In the title and the text, for “Queens” put “Kings”."
    assert (rows["Bees"]["kept"], rows["Bees"]["changed_by"]) == (True, "")
    assert len(said("try_rules", "weekly", "--limit", "1")) == 1


def test_the_dry_run_tells_of_rules_and_code_in_trouble(weekly: Subscribable, settings: Any) -> None:
    settings.HOOK_MODULES = ["tests.own_code"]
    call_command("alter_subscribable", "weekly", "--hooks", "tests.own_code.fails", stdout=StringIO())
    PostRule.objects.create(subscribable=weekly, action="drop", test="matches", pattern="(a")
    rows = said("try_rules", "weekly")
    assert "no regular expression" in rows[0]["trouble"]
    assert not any("no regular expression" in row["trouble"] for row in rows[1:]), "tried no further"
    assert all("out of order" in row["trouble"] and row["kept"] is False for row in rows)


def test_order_most_posts_and_hooks_are_options(weekly: Subscribable, settings: Any) -> None:
    settings.HOOK_MODULES = ["tests.own_code"]
    options = ("--order", "title", "--max-posts", "3", "--hooks", "tests.own_code.plain")
    call_command("alter_subscribable", "weekly", *options, stdout=StringIO())
    weekly.refresh_from_db()
    assert (weekly.post_order, weekly.max_posts, weekly.hooks) == ("title", 3, "tests.own_code.plain")
    call_command("alter_subscribable", "weekly", "--max-posts", "0", "--hooks", "", stdout=StringIO())
    weekly.refresh_from_db()
    assert (weekly.max_posts, weekly.hooks) == (None, "")
    with pytest.raises(CommandError, match=r"--hooks: “os\.path” may not be loaded"):
        call_command("alter_subscribable", "weekly", "--hooks", "os.path")
