"""add_rule, list_rules, drop_rule, try_rules, and the options for hooks, order and maximum."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from subscriptions.models import PostRule, Subscribable
from tests.factories import SubscribableFactory, an_entry
from tests.feeds.documents import a_feed_of

pytestmark = pytest.mark.django_db


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
