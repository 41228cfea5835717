"""Tags of feeds. A tag lives as long as a feed has it."""

from collections.abc import Iterable, Sequence

from django.core.exceptions import ValidationError
from django.db import transaction

from common.text import one_line
from feeds.models import Feed, Tag
from feeds.models.feed import FeedQuerySet

MAX_TAG_NAME = 100
MAX_TAGS_OF_A_FEED = 50


def checked_tag(name: str) -> str:
    """A tag's name on one line. Raises ValidationError.

    Commas separate tags wherever they are written, and a leading slash begins a path of them in OPML.
    """
    tidy = one_line(name).strip("/ ")
    if not tidy or len(tidy) > MAX_TAG_NAME or "," in tidy:
        raise ValidationError({"tags": f"A tag is 1 to {MAX_TAG_NAME} characters long, without a comma."})
    return tidy


def checked_tags(names: Iterable[str]) -> list[str]:
    """The names in order, each once whatever its capitals. Raises ValidationError."""
    found = _once(names)
    if len(found) > MAX_TAGS_OF_A_FEED:
        raise ValidationError({"tags": f"Give at most {MAX_TAGS_OF_A_FEED} tags."})
    return found


def _once(names: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for name in map(checked_tag, names):
        found.setdefault(name.casefold(), name)
    return list(found.values())


def tags_in(text: str) -> list[str]:
    """The names that a line of them means: "news, Machine learning"."""
    return checked_tags(part for part in text.split(",") if part.strip())


@transaction.atomic
def tags_named(names: Iterable[str]) -> list[Tag]:
    """The tags of these names, made where there are none; “News” finds “news”."""
    wanted = _once(names)
    if not wanted:
        return []
    there = known_tags()
    for name in wanted:
        if name.casefold() not in there:
            there[name.casefold()] = Tag.objects.get_or_create(name=name)[0]
    # They are locked, so that none is swept away before it is in use.
    pks = [there[name.casefold()].pk for name in wanted]
    locked = {tag.pk: tag for tag in Tag.objects.select_for_update().filter(pk__in=pks).order_by("pk")}
    return [locked[pk] for pk in pks if pk in locked]


def feeds_tagged(feeds: FeedQuerySet, name: str) -> FeedQuerySet:
    """The feeds that have the tag of this name, whatever its capitals."""
    tag = known_tags().get(name.strip().casefold())
    return feeds.filter(tags=tag) if tag is not None else feeds.none()


def known_tags() -> dict[str, Tag]:
    """All tags by their names without capitals."""
    return {tag.name.casefold(): tag for tag in Tag.objects.order_by("-pk")}


@transaction.atomic
def set_tags(feed: Feed, names: Sequence[str]) -> None:
    """Gives a feed these tags and no others."""
    before = list(feed.tags.all()) if feed.pk else []
    feed.tags.set(tags_named(names))
    sweep(before)


@transaction.atomic
def tag_feeds(*, feeds: Iterable[int], names: Iterable[str]) -> int:
    """Adds tags to feeds (their keys). Returns how many feeds got one they had not."""
    pks = set(Feed.objects.filter(pk__in=list(feeds)).values_list("pk", flat=True))
    tags = tags_named(names)
    through = Feed.tags.through
    had = set(through._default_manager.filter(feed_id__in=pks, tag__in=tags).values_list("feed_id", "tag_id"))
    new = [(pk, tag.pk) for pk in sorted(pks) for tag in tags if (pk, tag.pk) not in had]
    through._default_manager.bulk_create(
        [through(feed_id=pk, tag_id=tag) for pk, tag in new], ignore_conflicts=True, batch_size=500
    )
    return len({pk for pk, _ in new})


@transaction.atomic
def untag_feeds(*, feeds: Iterable[int], names: Iterable[str]) -> int:
    """Takes tags from feeds (their keys). Returns how many feeds had one of them."""
    there = known_tags()
    tags = [there[name.casefold()] for name in checked_tags(names) if name.casefold() in there]
    rows = Feed.tags.through._default_manager.filter(feed_id__in=list(feeds), tag__in=tags)
    count = rows.values("feed_id").distinct().count()
    rows.delete()
    sweep(tags)
    return count


def rename_tag(*, tag: Tag, name: str) -> Tag:
    """Gives a tag another name. Raises ValidationError when there is a tag of that name."""
    tidy = checked_tag(name)
    other = known_tags().get(tidy.casefold())
    if other is not None and other.pk != tag.pk:
        raise ValidationError({"name": f"There is a tag “{other}” already. Give its feeds that one instead."})
    Tag.objects.filter(pk=tag.pk).update(name=tidy)
    tag.name = tidy
    return tag


@transaction.atomic
def delete_tags(*, tags: Iterable[int]) -> int:
    """Deletes tags (their keys); their feeds stay. Returns how many."""
    pks = list(tags)
    Feed.tags.through._default_manager.filter(tag_id__in=pks).delete()
    return Tag.objects.filter(pk__in=pks).delete()[1].get("feeds.Tag", 0)


def sweep(tags: Iterable[Tag]) -> None:
    """Deletes the tags that no feed has any more, within the caller's transaction."""
    pks = [tag.pk for tag in tags]
    if not pks:
        return
    locked = Tag.objects.select_for_update().filter(pk__in=pks).order_by("pk")
    unused = [tag.pk for tag in locked if not tag.feeds.exists()]
    Tag.objects.filter(pk__in=unused).delete()
