"""Newsletters, and their sources: feeds and posts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet

from common.cli.commands import shown_fields
from common.clock import utcnow
from common.refused import Refused
from common.resources import ADMIN, API, COMMAND, Argument, Filter, Resource, search, verb
from common.text import pluralize
from feeds.items.held import include_item
from feeds.models import Feed, Item
from feeds.resources import Feeds, Items
from subscriptions.admin_words import rhythm_for_admins
from subscriptions.collections.assign import EXCLUDED_BY_HAND, drop_feed, drop_subscribable, exclude
from subscriptions.models import KEPT, Subscribable
from subscriptions.newsletters.define import next_close, with_figures


def asks_to_drop_feeds(feeds: Sequence[Feed]) -> list[str]:
    sentences = []
    for feed in feeds:
        on_the_way = feed.items.filter(state=Item.State.ASSIGNED).count()
        newsletters = pluralize(feed.subscribables.count(), "newsletter")
        words = f"“{feed}” is deleted, with its {pluralize(feed.items.count(), 'post')}."
        if feed.read_by:
            words = f"“{feed}” is no longer sent. People still read it here, so it isn’t deleted."
        if on_the_way:
            words += f" {pluralize(on_the_way, 'post')} waiting in next issues will be sent first."
        sentences.append(f"{words} {newsletters} won’t get new posts from it.")
    return sentences


def asks_to_drop_newsletters(newsletters: Sequence[Subscribable]) -> list[str]:
    sentences = []
    for newsletter in newsletters:
        active = newsletter.subscriptions.exclude(status="unsubscribed").count()
        held = newsletter.assignables.aggregate(posts=KEPT)["posts"]
        waiting = f" {pluralize(held, 'post')} in its next issue won’t be sent." if held else ""
        sentences.append(
            f"“{newsletter}” is deleted with its {pluralize(active, 'subscriber')}, its page, its archive and"
            f" unsent emails.{waiting} You can’t undo this."
        )
    return sentences


def of_newsletter(things: str, lookup: str = "subscribable__name", **options: Any) -> Filter:
    """Return a filter for what belongs to a newsletter."""
    said = f"Only {things} of this newsletter."
    options |= {"api": "subscribable", "longest": 64}
    return Filter("newsletter", said, lookup, owner=lambda: newsletters, **options)


class Newsletters(Resource[Subscribable]):
    noun = "newsletter"
    plural = "subscribables"
    key = order = "name"
    list_help = "List newsletters and bridges, with their next issues."
    empty = "There are no newsletters yet. Create one: define_subscribable NAME --feed ID"
    filters = (
        Filter("channel", "Only those of this channel, such as email.", "channel", longest=20),
        Filter(
            "arrangement",
            "Only those with this arrangement.",
            "arrangement",
            choices=Subscribable.Arrangement.values,
        ),
        Filter(
            "visibility",
            "Only those with this visibility.",
            "visibility",
            choices=Subscribable.Visibility.values,
        ),
        Filter("feed", "Only those with this feed.", "feeds", kind=int, owner=lambda: feeds),
        Filter("stopped", "Only stopped ones, which take no new posts.", "stopped", kind=bool),
        search("Part of the name or title.", "name", "title"),
    )

    def rows(self) -> "QuerySet[Subscribable]":
        return with_figures(Subscribable.objects.all())

    def shown(self, row: Any) -> Mapping[str, Any]:
        now = utcnow()
        return {
            **shown_fields(row, "name title channel arrangement time_zone"),
            "feeds": [feed.pk for feed in row.feeds.all()],
            "subscribers": row.subscribers,
            "open": row.open,
            "next_close": next_close(row, now=now),
            "rhythm": rhythm_for_admins(row),
        }

    @verb(
        "Delete",
        command="drop_subscribable",
        asks=asks_to_drop_newsletters,
        is_harmful=True,
        permission="drop",
        deletes=(204,),
    )
    def drop(
        self,
        newsletter: Subscribable,
        *,
        force: Annotated[
            bool, Argument("Delete its subscribers too, and cancel queued emails.", on=(COMMAND, API))
        ] = False,
        now: datetime,
        by: str,
    ) -> str:
        """Delete a newsletter or bridge with its issues. Refuses if it has subscribers, unless forced."""
        return drop_subscribable(subscribable=newsletter, force=force or by == ADMIN, now=now)


class DroppableFeeds(Feeds):
    noun = "feed"

    @verb("Delete", asks=asks_to_drop_feeds, is_harmful=True, permission="drop", deletes=(202, 204))
    def drop(
        self,
        feed: Feed,
        *,
        force: Annotated[
            bool, Argument("Stop reading now; delete it once its last posts are sent.", on=(COMMAND, API))
        ] = False,
        now: datetime,
        by: str,
    ) -> str:
        """Delete a feed. Refuses if it has posts that haven’t been sent, unless forced."""
        return drop_feed(feed=feed, force=force or by == ADMIN, now=now)


class SourcePosts(Items):
    noun = "post"

    @verb("Send it anyway", on=(API, ADMIN), fits=lambda item: item.state == "excluded", most=50)
    def include(self, item: Item, *, now: datetime) -> str:
        """Include an excluded post. It settles again and is then sent. 409 if it is no longer in its feed, or
        was sent. A second time changes nothing."""
        said = include_item(item_id=item.pk, now=now)
        item.refresh_from_db(fields=["state"])
        if item.state != Item.State.UNASSIGNED:
            raise Refused(said)
        return said

    @verb("Don’t send", on=(API, ADMIN), fits=lambda item: item.state in ("unassigned", "assigned"))
    def exclude(
        self,
        item: Item,
        *,
        reason: Annotated[
            str, Argument("Shown in the admin; usually “by hand”.", on=(API,), longest=500)
        ] = EXCLUDED_BY_HAND,
    ) -> str:
        """Exclude a post. It is removed from the open collection. 409 if it is already being sent. A second
        time changes nothing."""
        if item.state != Item.State.EXCLUDED and not exclude(item_id=item.pk, reason=reason):
            raise Refused(f"“{item}” has gone out, or is on its way.")
        return "It won’t be sent."


newsletters: Newsletters = Newsletters()
feeds: DroppableFeeds = DroppableFeeds()
items: SourcePosts = SourcePosts()
