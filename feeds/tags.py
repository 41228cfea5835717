"""Tags, which exist as long as a feed has them."""

from collections.abc import Iterable, Sequence

from django.core.exceptions import ValidationError
from django.db import transaction

from common.text import one_line
from feeds.models import Feed, Tag
from feeds.models.feed import FeedQuerySet

MAX_TAG_NAME = 100
MAX_TAGS_OF_A_FEED = 50


def checked_tag(name: str) -> str:
    """Return the name on one line. Raises ValidationError.

    Commas separate tags, and in OPML a leading slash begins a path.
    """
    tidy = one_line(name).strip("/ ")
    if not tidy or len(tidy) > MAX_TAG_NAME or "," in tidy:
        raise ValidationError({"tags": f"A tag is 1 to {MAX_TAG_NAME} characters long, without a comma."})
    return tidy


def checked_tags(names: Iterable[str]) -> list[str]:
    """Drop duplicates in any case. Raises ValidationError."""
    unique = _once(names)
    if len(unique) > MAX_TAGS_OF_A_FEED:
        raise ValidationError({"tags": f"Give at most {MAX_TAGS_OF_A_FEED} tags."})
    return unique


def _once(names: Iterable[str]) -> list[str]:
    unique: dict[str, str] = {}
    for name in map(checked_tag, names):
        unique.setdefault(name.casefold(), name)
    return list(unique.values())


def tags_in(text: str) -> list[str]:
    """Parse "news, Machine learning"."""
    return checked_tags(part for part in text.split(",") if part.strip())


@transaction.atomic
def tags_named(names: Iterable[str]) -> list[Tag]:
    wanted = _once(names)
    if not wanted:
        return []
    there = known_tags()
    for name in wanted:
        if name.casefold() not in there:
            there[name.casefold()] = Tag.objects.get_or_create(name=name)[0]
    # Locked, so that `sweep` cannot delete them before they are in use.
    pks = [there[name.casefold()].pk for name in wanted]
    locked = {tag.pk: tag for tag in Tag.objects.select_for_update().filter(pk__in=pks).order_by("pk")}
    return [locked[pk] for pk in pks if pk in locked]


def feeds_tagged(feeds: FeedQuerySet, name: str) -> FeedQuerySet:
    tag = known_tags().get(name.strip().casefold())
    return feeds.filter(tags=tag) if tag is not None else feeds.none()


def known_tags() -> dict[str, Tag]:
    """Return tags by casefolded name."""
    return {tag.name.casefold(): tag for tag in Tag.objects.order_by("-pk")}


@transaction.atomic
def set_tags(feed: Feed, names: Sequence[str]) -> None:
    before = list(feed.tags.all()) if feed.pk else []
    feed.tags.set(tags_named(names))
    sweep(before)


@transaction.atomic
def tag_feeds(*, feeds: Iterable[int], names: Iterable[str]) -> int:
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
    there = known_tags()
    tags = [there[name.casefold()] for name in checked_tags(names) if name.casefold() in there]
    rows = Feed.tags.through._default_manager.filter(feed_id__in=list(feeds), tag__in=tags)
    count = rows.values("feed_id").distinct().count()
    rows.delete()
    sweep(tags)
    return count


def rename_tag(*, tag: Tag, name: str) -> Tag:
    """Raise ValidationError if the name is in use."""
    tidy = checked_tag(name)
    other = known_tags().get(tidy.casefold())
    if other is not None and other.pk != tag.pk:
        raise ValidationError({"name": f"There is a tag “{other}” already. Give its feeds that one instead."})
    Tag.objects.filter(pk=tag.pk).update(name=tidy)
    tag.name = tidy
    return tag


@transaction.atomic
def delete_tags(*, tags: Iterable[int]) -> int:
    pks = list(tags)
    Feed.tags.through._default_manager.filter(tag_id__in=pks).delete()
    return Tag.objects.filter(pk__in=pks).delete()[1].get("feeds.Tag", 0)


def sweep(tags: Iterable[Tag]) -> None:
    """Delete tags without feeds, in the caller's transaction."""
    pks = [tag.pk for tag in tags]
    locked = Tag.objects.select_for_update().filter(pk__in=pks).order_by("pk")
    unused = [tag.pk for tag in locked if not tag.feeds.exists()]
    Tag.objects.filter(pk__in=unused).delete()
