from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result, argument, positive, shown_fields, whole
from common.clock import utcnow
from common.net.client import keeps_secrets
from common.text import pluralize
from feeds.adding.add import add_feed, alter_feed, feed_at
from feeds.adding.discover import discover
from feeds.addresses import is_address
from feeds.credentials import exposure, kind_of, split_address, without_secrets
from feeds.hubs.subscriptions import read_pushes
from feeds.items.dry_run import FAILED, DryRun, dry_run, remarks, sentence
from feeds.items.held import exclude_held, include_item, release
from feeds.management.options import (
    OPTION_NAMES,
    add_credentials,
    add_settings,
    credentials,
    find_feed,
    settings,
)
from feeds.models import Feed, Item
from feeds.models import Poll as PollRow
from feeds.polling.poll import poll_due, poll_feed
from feeds.resources import feeds
from feeds.tags import checked_tag

IN_JSON = ("feed_id", "ok", "error", "new", "changed", "vanished", "held", "excluded", "final")
NAMED = ("url", "status")
tags_argument = partial(argument, action="append", default=[], metavar="TAG")
FEED = argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")


class PreviewFeed(FeedletterCommand):
    help = "Reads a feed without storing anything, and says what would change."
    empty = "There are no posts in it."
    arguments = (FEED,)

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        with self.progress("reading the feed"):
            run = dry_run(feed_id=feed.pk)
        if run.outcome == FAILED:
            raise CommandError(f"Feed {feed.pk} could not be read: {run.error}")
        if options["json"]:
            return {
                "id": feed.pk,
                "outcome": run.outcome,
                "http_status": run.status,
                "warnings": list(run.warnings),
                "counts": dict(run.events),
                "left_out": run.more,
                "items": list(rows(run)),
            }
        for line in (f"{feed}: {sentence(run)}", *remarks(run)):
            self.stdout.write(line)
        if run.more:
            self.note(f"{run.more} more posts are left out.")
        return rows(run)


def rows(run: DryRun) -> Iterator[dict[str, Any]]:
    for one in run.rows:
        yield {
            "id": one.pk,
            "title": one.title or one.link or one.guid,
            "published": one.published,
            "event": one.event,
            "settles_at": one.settles,
            "sent": one.fate,
            "why": one.why,
        }


class FindFeeds(FeedletterCommand):
    help = "Looks for the feeds of a page, a channel, a profile or a repository. Adds nothing."
    option_names = {**OPTION_NAMES, "url": "URL"}  # noqa: RUF012
    arguments = (argument("url", metavar="URL", help="Any address, such as example.org"), add_credentials)

    def run(self, **options: Any) -> Result:
        access = credentials(options)
        with self.progress("looking for feeds"):
            discovery = discover(options["url"], now=utcnow(), credentials=access)
        if not discovery.candidates:
            raise CommandError(discovery.problem)
        if discovery.unread:
            self.note(f"The page names {discovery.unread} more, which were not looked at.")
        return [
            {
                **shown_fields(one, "url title format posts"),
                "newest": max((post.published for post in one.latest if post.published), default=None),
                "comments": one.is_comments,
                "watched_by": one.feed_id,
                "warnings": list(one.warnings),
            }
            for one in discovery.candidates
        ]


Access = dict[str, str] | None


class AddFeed(FeedletterCommand):
    help = "Adds a feed and reads it for the first time."
    option_names = {**OPTION_NAMES, "url": "URL", "start_count": "--last"}  # noqa: RUF012
    arguments = (
        argument("url", metavar="URL", help="A feed, or a page that has one, such as https://example.org"),
        tags_argument("--tag", help="May be given several times."),
        partial(add_settings, defaults=True),
        add_credentials,
    )

    def add_options(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--from-now", action="store_true", help="Send new posts only (the usual choice).")
        which.add_argument("--last", type=positive, metavar="N", help="Send the last N posts too.")
        which.add_argument("--all", action="store_true", help="Send everything that is in the feed, too.")

    def run(self, **options: Any) -> Result:
        chosen: dict[str, Any] = {**start(options), **settings(options)}
        # The address may contain them.
        access = credentials(options) or split_address(options["url"])[1] or None
        url, access = self.found(options["url"], access)
        if (there := feed_at(url)) is not None:
            raise CommandError(f"Feed {there.pk} has this address already. “show_feed {there.pk}” shows it.")
        feed = add_feed(url=url, now=utcnow(), tags=options["tag"], credentials=access, **chosen)
        with self.progress("reading the feed"):
            result = poll_feed(feed_id=feed.pk, now=utcnow())
        if result is not None and not result.ok:
            raise CommandError(
                f"The feed was added as {feed.pk} but could not be read yet: {result.error} "
                f"It is retried automatically; “alter_feed {feed.pk} --url …” corrects the address, "
                f"“drop_feed {feed.pk}” removes it."
            )
        feed.refresh_from_db()
        excluded = feed.items.filter(state=Item.State.EXCLUDED).count()
        return {"id": feed.pk, "url": feed.url, "title": feed.title, "items_excluded": excluded}

    def found(self, url: str, access: Access) -> tuple[str, Access]:
        """Return the address to watch, given or found in its page, and its credentials."""
        with self.progress("looking for feeds"):
            discovery = discover(url, now=utcnow(), credentials=access)
        if discovery.may_be_a_feed or (discovery.is_feed and is_address(url.strip())):
            return url, access
        if discovery.best is None:
            raise CommandError(discovery.problem)
        if discovery.only is None and not discovery.is_feed:
            listed = "; ".join(f"{one.title}: {one.url}" for one in discovery.candidates)
            raise CommandError(f"The page has several feeds. Give the address of one of them: {listed}")
        feed = (discovery.only or discovery.best).url
        if not discovery.is_feed:
            self.note(f"{without_secrets(url)} is a page; its feed is {feed}")
        # Another host must not get them.
        return feed, access if keeps_secrets(discovery.asked, feed) else None


def start(options: dict[str, Any]) -> dict[str, Any]:
    if options["last"] is not None:
        return {"start": Feed.Start.LAST, "start_count": options["last"]}
    return {"start": Feed.Start.ALL if options["all"] else Feed.Start.FROM_NOW}


class AlterFeed(FeedletterCommand):
    help = "Changes a feed."
    option_names = OPTION_NAMES
    arguments = (
        FEED,
        argument("--url", help="The new address. Posts already there aren’t sent."),
        argument(
            "--status",
            choices=("active", "paused", "stopped"),
            help="Paused and stopped feeds aren’t read, and no issue waits for them.",
        ),
        tags_argument("--tag", help="Give it a tag. May be given several times."),
        tags_argument("--untag", help="Remove a tag. May be repeated."),
        partial(add_settings, defaults=False),
        add_credentials,
        argument("--no-credentials", action="store_true", help="Delete them."),
    )

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        changes = {name: options[name] for name in NAMED if options[name] is not None}
        changes |= {**settings(options), **tags(feed, options), **access(options)}
        if not changes:
            raise CommandError("There is nothing to change: give at least one option, such as --title.")
        had = bool(feed.credentials)
        feed = alter_feed(feed=feed, **changes)
        sentences = [f"{name.replace('_', ' ')} is now {shown(feed, name)}" for name in changes]
        if had and not feed.credentials and "credentials" not in changes:
            sentences.append(
                "the credentials of the old address are forgotten, as the new one is at another host"
            )
        if warning := exposure(feed) if "credentials" in changes else "":
            self.note(warning)
        return Printed(f"Feed {feed.pk}: {', '.join(sentences)}.", feeds.shown(feed))


def tags(feed: Feed, options: dict[str, Any]) -> dict[str, list[str]]:
    added, removed = options["tag"], {checked_tag(name).casefold() for name in options["untag"]}
    if not added and not removed:
        return {}
    names: Sequence[str] = [*feed.tags.values_list("name", flat=True), *added]
    return {"tags": [name for name in names if name.casefold() not in removed]}


def access(options: dict[str, Any]) -> dict[str, dict[str, str]]:
    given = credentials(options)
    if given is not None and options["no_credentials"]:
        raise CommandError("--no-credentials: leave it out, or --user and --header.")
    if given is None and not options["no_credentials"]:
        return {}
    return {"credentials": given or {}}


def shown(feed: Feed, name: str) -> str:
    """Never show a secret."""
    if name == "credentials":
        return kind_of(feed) or "nothing"
    if name == "tags":
        return ", ".join(tag.name for tag in feed.tags.all()) or "none"
    value = getattr(feed, name)
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


class DecideFeed(FeedletterCommand):
    help = "Sends or drops the posts that a feed holds for you. “list_feeds --health held” lists such feeds."

    arguments = (FEED,)

    def add_options(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--send", action="store_true", help="Send them once settled.")
        what.add_argument(
            "--exclude", action="store_true", help="Don’t send them. “include_item” takes one back."
        )

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        decide, words = (release, "let go") if options["send"] else (exclude_held, "excluded")
        count = decide(now=utcnow(), feed_ids=[feed.pk])
        sentence = f"{pluralize(count, 'post')} of {feed} {'was' if count == 1 else 'were'} {words}."
        return Printed(sentence, {"feed": feed.pk, "posts": count, "sent": bool(options["send"])})


class Poll(FeedletterCommand):
    help = "Reads the feeds that are due, each once."
    arguments = (
        argument("--all", action="store_true", help="Read every feed that is not paused or stopped."),
    )

    def run(self, **options: Any) -> Result:
        with self.progress("polling"):
            read_pushes()
            results = poll_due(ignore_due=options["all"], by_command=True)
        failed = [result for result in results if not result.ok]
        facts = {
            "polled": len(results),
            "failed": len(failed),
            "feeds": [{name: getattr(one, name) for name in IN_JSON} for one in results],
        }
        failures = (f"Feed {result.feed_id}: {result.error}" for result in failed)
        return Printed("\n".join([summary(results, len(failed)), *failures]), facts)


def summary(results: list[PollRow], failed: int) -> str:
    if not results:
        return "No feed is due. “poll --all” reads them all the same."
    new, changed = sum(one.new for one in results), sum(one.changed for one in results)
    feeds = pluralize(len(results), "feed")
    excluded = sum(one.excluded for one in results)
    more = f", {excluded} not for newsletters" if excluded else ""
    more += f", {pluralize(failed, 'feed')} failed" if failed else ""
    return f"Read {feeds}: {pluralize(new, 'new post')}, {changed} changed{more}."


class IncludeItem(FeedletterCommand):
    help = "Includes excluded posts: they are sent once they settle. See “list_items --state excluded”."
    arguments = (argument("ids", type=whole, nargs="+", metavar="ID", help="Its number in “list_items”."),)

    def run(self, **options: Any) -> Result:
        keys = list(dict.fromkeys(options["ids"]))
        if missing := set(keys) - set(Item.objects.filter(pk__in=keys).values_list("pk", flat=True)):
            raise CommandError(f"There is no post {min(missing)}. “list_items” lists them.")
        now = utcnow()
        said = {key: include_item(item_id=key, now=now) for key in keys}
        states = dict(Item.objects.filter(pk__in=keys).values_list("pk", "state"))
        return [{"id": key, "state": states[key], "said": said[key]} for key in keys]
