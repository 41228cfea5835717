"""Feeds and posts: lists of commands and the API. subscriptions/resources has their verbs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet

from common.cli.commands import shown_fields
from common.resources import COMMAND, Argument, Done, Filter, Resource, search, verb
from feeds.items.history import KEPT_PER_FEED
from feeds.items.history import readings as readings_of
from feeds.models import Feed, Item
from feeds.models.feed import HEALTH
from feeds.tags import MAX_TAG_NAME, feeds_tagged

SHOWN = 20
READING = (
    "at origin outcome status bytes duration_ms new changed vanished held excluded final next_poll_at"
    " next_poll_why note"
)
FOR_PROGRAMS = ("origin", "next_poll_at", "excluded", "final")


class Feeds(Resource[Feed]):
    noun = "feed"
    list_help = "List the feeds."
    empty = "There are no feeds yet. Add one: add_feed https://example.org/feed.xml"
    made_at = "added_at"
    filters = (
        Filter("tag", "Only feeds with this tag.", narrow=feeds_tagged, longest=MAX_TAG_NAME),
        Filter(
            "health",
            "Only feeds with this health.",
            narrow=lambda rows, word: rows.in_health(word),
            choices=HEALTH,
            api="status",
        ),
        search("Part of the title or the address.", "title", "url"),
    )

    def rows(self) -> "QuerySet[Feed]":
        return Feed.objects.all()

    def shown(self, row: Feed) -> Mapping[str, Any]:
        read = shown_fields(row, "last_polled_at next_poll_at last_error")
        return {**shown_fields(row, "id url title"), "status": row.health, **read}

    @verb("Show", on=(COMMAND,))
    def show(
        self,
        feed: Feed,
        *,
        readings: Annotated[int, Argument(f"Show this many readings, at most {KEPT_PER_FEED}.")] = SHOWN,
        now: datetime,
    ) -> Done:
        """Show a feed: its state, its next reading and why then, and its last readings."""
        # Loads the parsers.
        from feeds.admin_words import next_reading

        facts = {**self.shown(feed), **shown_fields(feed, "failures failing_since next_poll_why warning")}
        rows = [shown_fields(poll, READING) for poll in readings_of(feed, limit=readings)]
        table = [{name: row[name] for name in row if name not in FOR_PROGRAMS} for row in rows]
        page = [{**facts, "next_reading": next_reading(feed, now)}, "", table or "Not read yet."]
        return Done(page, {**facts, "readings": rows})


class Items(Resource[Item]):
    noun = "post"
    plural = "items"
    list_help = "List posts: the state of each, and since when."
    empty = "There are no posts yet."
    made_at = "first_seen"
    filters = (
        Filter("feed", "Only posts of this feed.", lookup="feed", kind=int, owner=lambda: feeds),
        Filter("state", "Only posts in this state.", lookup="state", choices=Item.State.values),
        Filter(
            "held",
            "Only posts that wait for an admin’s decision.",
            narrow=lambda rows, held: rows.filter(held_at__isnull=not held),
            kind=bool,
        ),
        search("Part of the title or the link.", "title", "link"),
    )

    def rows(self) -> "QuerySet[Item]":
        return Item.objects.defer("entry")

    def shown(self, row: Item) -> Mapping[str, Any]:
        facts = shown_fields(row, "guid link title state first_seen stable_since last_checked")
        return {"id": row.pk, "feed": row.feed_id, **facts}


feeds: Feeds = Feeds()
items: Items = Items()
