"""Newsletters, and their sources: feeds and posts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from django.db.models import QuerySet

from common.refused import Refused
from common.resources import ADMIN, API, COMMAND, Argument, Resource, verb
from common.text import pluralize
from feeds.items.held import include_item
from feeds.models import Feed, Item
from subscriptions.collections.assign import EXCLUDED_BY_HAND, drop_feed, drop_subscribable, exclude
from subscriptions.models import KEPT, Subscribable
from subscriptions.newsletters.define import with_figures


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


class Newsletters(Resource[Subscribable]):
    noun = "newsletter"
    plural = "subscribables"
    key = "name"

    def rows(self) -> "QuerySet[Subscribable]":
        return with_figures(Subscribable.objects.all())

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


class Feeds(Resource[Feed]):
    noun = "feed"

    def rows(self) -> "QuerySet[Feed]":
        return Feed.objects.prefetch_related("tags")

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


class Items(Resource[Item]):
    noun = "post"

    def rows(self) -> "QuerySet[Item]":
        return Item.objects.defer("entry")

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


newsletters, feeds, items = Newsletters(), Feeds(), Items()
