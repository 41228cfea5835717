from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Prefetch

from common.db.bulk import batched, insert_rows
from subscriptions.models import Destination, SubscriberTag, Subscription, Tagging
from subscriptions.models.subscription import SubscriptionQuerySet
from subscriptions.rules.tags import MOST_TAGS, BadTag, tag_key, tidy_tag, tidy_tags
from subscriptions.subscribers.notices import tell_changed

PEOPLE_AT_ONCE = 5000


def subscribers_in(
    newsletters: Collection[int], *, any_of: Collection[str] = (), none_of: Collection[str] = ()
) -> SubscriptionQuerySet:
    """Return subscriptions by tag keys. Includes disabled addresses: to send, add `.reachable()`."""
    rows = Subscription.objects.confirmed().filter(subscribable__in=newsletters)
    if any_of:
        rows = rows.filter(_have(any_of))
    return rows.filter(~_have(none_of)) if none_of else rows


def _have(keys: Collection[str]) -> Exists:
    # A join would repeat people, and NOT IN reads all taggings for each row. For literal tag keys the planner
    # has statistics.
    tags = list(SubscriberTag.objects.filter(key__in=keys).order_by("pk").values_list("pk", flat=True))
    return Exists(Tagging.objects.filter(destination=OuterRef("destination"), tag__in=tags))


def tags_named(names: Iterable[str]) -> list[SubscriberTag]:
    """Get or create, ignoring case. Raises BadTag."""
    wanted = {tag_key(name): name for name in reversed([*map(tidy_tag, names)])}
    there = {tag.key: tag for tag in SubscriberTag.objects.filter(key__in=wanted)}
    missing = [key for key in wanted if key not in there]
    if missing:
        if SubscriberTag.objects.count() + len(missing) > MOST_TAGS:
            raise BadTag(f"There are {MOST_TAGS:,} tags at most. Delete some that nobody needs.", "tags")
        new = [SubscriberTag(name=wanted[key], key=key) for key in sorted(missing)]
        SubscriberTag.objects.bulk_create(new, ignore_conflicts=True)
        there |= {tag.key: tag for tag in SubscriberTag.objects.filter(key__in=missing)}
    return [there[key] for key in reversed(wanted)]


def fetch_tags(path: str) -> "Prefetch[Any]":
    """`path`: from the rows to their address."""
    return Prefetch(f"{path}__taggings".removeprefix("__"), Tagging.objects.select_related("tag"))


def tags_of(destinations: Iterable[int]) -> dict[int, list[str]]:
    """Return sorted tag names, without people who have none."""
    names: dict[int, list[str]] = {}
    rows = Tagging.objects.filter(destination__pk__any_of=frozenset(destinations))
    for pk, name in rows.order_by("tag__key").values_list("destination_id", "tag__name"):
        names.setdefault(pk, []).append(name)
    return names


@transaction.atomic
def tag_people(*, destinations: Iterable[int], names: Iterable[str]) -> int:
    tags, total = tags_named(names), 0
    for part in batched(sorted(set(destinations)), PEOPLE_AT_ONCE):
        # People may have been erased meanwhile.
        rows = Destination.objects.select_for_update(no_key=True).filter(pk__any_of=frozenset(part))
        known = list(rows.filter(erased_at=None).order_by("pk").values_list("pk", flat=True))
        among = Tagging.objects.filter(destination__pk__any_of=frozenset(known), tag__in=tags)
        had = set(among.values_list("destination_id", "tag_id"))
        new = [(pk, tag.pk) for pk in known for tag in tags if (pk, tag.pk) not in had]
        give(new)
        tagged = {pk for pk, _ in new}
        tell_changed(Subscription.objects.filter(destination__pk__any_of=frozenset(tagged)))
        total += len(tagged)
    return total


def give(pairs: Sequence[tuple[int, int]]) -> None:
    """Existing pairs are ignored."""
    if pairs:
        destinations, tags = zip(*pairs, strict=True)
        insert_rows(Tagging, {"destination": destinations, "tag": tags})


@transaction.atomic
def untag_people(*, destinations: Iterable[int], names: Iterable[str]) -> int:
    keys = [tag_key(name) for name in tidy_tags(names)]
    total = 0
    for part in batched(sorted(set(destinations)), PEOPLE_AT_ONCE):
        rows = Tagging.objects.filter(destination__pk__any_of=frozenset(part), tag__key__in=keys)
        had = frozenset(rows.values_list("destination", flat=True))
        rows.delete()
        tell_changed(Subscription.objects.filter(destination__pk__any_of=had))
        total += len(had)
    return total


def replace_tags(*, destination: Destination, names: Iterable[str]) -> bool:
    """Return whether any changed; the caller emits the event in its transaction. Raises BadTag."""
    tags = tags_named(tidy_tags(names))
    gone, _ = destination.taggings.exclude(tag__in=tags).delete()
    had = set(destination.taggings.values_list("tag_id", flat=True))
    new = [(destination.pk, tag.pk) for tag in tags if tag.pk not in had]
    give(new)
    return bool(gone or new)


def rename_tag(*, tag: SubscriberTag, name: str) -> SubscriberTag:
    """Raises BadTag if the name is in use."""
    tidy = tidy_tag(name)
    if SubscriberTag.objects.filter(key=tag_key(tidy)).exclude(pk=tag.pk).exists():
        raise BadTag(f"There is a tag “{tidy}” already. Use that one instead.", "name")
    tag.name, tag.key = tidy, tag_key(tidy)
    tag.save(update_fields=["name", "key"])
    return tag


@transaction.atomic
def delete_tags(*, tags: Iterable[int]) -> int:
    pks = list(tags)
    Tagging.objects.filter(tag__in=pks).delete()
    return SubscriberTag.objects.filter(pk__in=pks).delete()[1].get("subscriptions.SubscriberTag", 0)
