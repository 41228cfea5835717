"""Recipients of a letter, for publishing, late subscribers, welcome mails and counts.

A letter and its issue each have an `audience` (delivery/rules/audience.py); {} means every reader. To narrow
it in a new way, change this module and the form of the letter's page.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from channels.rules.corrections import DELETE_WITHDRAWN, EDIT_CORRECTED, wishes
from common.ports.panels import CannotAct
from delivery.models import Broadcast, Delivery, Issue
from delivery.rules.audience import Audience, UnknownAudience, audience_sentence, is_for_some, listed_names
from subscriptions.models import Subscribable, SubscriberTag, Subscription
from subscriptions.rules.tags import check_segment, tag_key, tidy_tags
from subscriptions.subscribers.tags import subscribers_in


class WaitsForPerson(CannotAct):
    """A letter that cannot be sent until a person changes something; a retry would not help."""


def recipients_of(letter: Issue | Broadcast) -> "QuerySet[Subscription]":
    """Return the subscriptions that would receive the letter now, one per person.

    Raises UnknownAudience, and WaitsForPerson for a deleted tag or newsletter.
    """
    return each_once(letter, subscribers_of(letter))


def readers_of(newsletter_id: int) -> "QuerySet[Subscription]":
    return Subscription.objects.reachable().filter(subscribable=newsletter_id)


def subscribers_of(letter: Issue | Broadcast, *, lock: bool = False) -> "QuerySet[Subscription]":
    """Return the audience's subscriptions; with several newsletters a person may have several.

    `lock` protects the tags from deletion until the transaction ends: without an excluded tag the letter
    would reach more people. Raises like `recipients_of`.
    """
    audience = audience_of(letter)
    if not letter.audience:
        return readers_of(letter.subscribable_id)
    if audience.series:
        # See delivery/issues/send_series.py.
        return Subscription.objects.none()
    tags = SubscriberTag.objects.filter(pk__in=audience.tags).order_by("pk")
    if lock:
        tags = tags.select_for_update(no_key=True)
    keys = dict(tags.values_list("pk", "key"))
    others = set(_newsletters(audience.others).values_list("pk", flat=True))
    got = set(Issue.objects.filter(pk__in=audience.got).values_list("pk", flat=True))
    gone = [f"the tag “{name}”" for pk, name in audience.tags.items() if pk not in keys]
    gone += [f"the newsletter “{name}”" for pk, name in audience.others.items() if pk not in others]
    gone += [f"the issue “{name}”" for pk, name in audience.got.items() if pk not in got]
    if gone:
        raise WaitsForPerson(
            f"The recipients include {' and '.join(gone)}, which no longer exists. Choose recipients again."
        )
    rows = subscribers_in(
        [letter.subscribable_id, *sorted(others)],
        any_of=[keys[pk] for pk in audience.any_of],
        none_of=[keys[pk] for pk in audience.none_of],
    ).reachable()
    if not got:
        return rows
    earlier = Q(issue__version=0) | Q(version__lt=F("issue__version"))
    theirs = Delivery.objects.filter(earlier, issue__in=got, destination=OuterRef("destination"))
    return rows.filter(Exists(theirs.filter(state__in=(Delivery.State.SENT, Delivery.State.STORED))))


def each_once(letter: Issue | Broadcast, rows: "QuerySet[Subscription]") -> "QuerySet[Subscription]":
    """Keep one subscription per person: the letter's own newsletter's, else the oldest."""
    if not letter.audience.get("others"):
        return rows
    own = Q(subscribable=letter.subscribable_id)
    theirs = rows.filter(own | Q(pk__lt=OuterRef("pk")), destination=OuterRef("destination"))
    return rows.filter(own | ~Exists(theirs))


def count_readers(letter: Issue | Broadcast) -> tuple[int, int]:
    """Count recipients and all readers of its newsletters. Raises like `recipients_of`."""
    count = recipients_of(letter).count()
    audience = audience_of(letter)
    if not is_for_some(letter.audience):
        return count, count
    every = Subscription.objects.reachable()
    every = every.filter(subscribable__in=[letter.subscribable_id, *audience.others])
    return count, each_once(letter, every).count()


def _newsletters(keys: Iterable[int]) -> "QuerySet[Subscribable]":
    return Subscribable.objects.filter(pk__in=list(keys), channel="email")


def audience_of(letter: Issue | Broadcast) -> Audience:
    """Parse the audience. Raises UnknownAudience."""
    try:
        return Audience.from_json(letter.audience)
    except UnknownAudience as error:
        raise UnknownAudience(f"“{letter}”: {error}") from error


def named_now(letter: Issue | Broadcast) -> Audience:
    """Return the audience with current names. Raises UnknownAudience."""
    audience = audience_of(letter)
    if not letter.audience:
        return audience
    tags = dict(SubscriberTag.objects.filter(pk__in=audience.tags).values_list("pk", "name"))
    others = {row.pk: str(row) for row in _newsletters(audience.others)}

    def renamed(part: Mapping[int, str], names: Mapping[int, str]) -> dict[int, str]:
        return {key: names.get(key, f"{name} (deleted)") for key, name in part.items()}

    return replace(
        audience,
        any_of=renamed(audience.any_of, tags),
        none_of=renamed(audience.none_of, tags),
        others=renamed(audience.others, others),
    )


def audience_words(letter: Issue | Broadcast) -> str:
    """Return words to follow “to”. Raises UnknownAudience."""
    return audience_sentence(named_now(letter))


def chosen_audience(
    newsletter: Subscribable,
    *,
    any_of: Iterable[str] = (),
    none_of: Iterable[str] = (),
    others: Iterable[str] = (),
) -> Audience:
    """Return the audience for names that people typed. Raises Refused with the field."""
    any_of, none_of, others = tidy_tags(any_of), tidy_tags(none_of), list(others)
    check_segment(any_of=any_of, none_of=none_of)
    rows = {row.name: row for row in Subscribable.objects.filter(name__in=others, channel="email")}
    for name in others:
        if name not in rows:
            raise CannotAct(f"There is no email newsletter “{name}”.", "others")
        if rows[name].pk == newsletter.pk:
            raise CannotAct(f"Subscribers of “{newsletter}” already get this email.", "others")
    return Audience(
        any_of=_tags(any_of, "any_of"),
        none_of=_tags(none_of, "none_of"),
        others={rows[name].pk: str(rows[name]) for name in others},
    )


def altered_audience(
    letter: Broadcast,
    *,
    any_of: Iterable[str] | None = None,
    none_of: Iterable[str] | None = None,
    others: Iterable[str] | None = None,
) -> Audience:
    """Replace parts of the audience; None keeps a part. Raises Refused with the field."""
    wanted = {"any_of": any_of, "none_of": none_of, "others": others}
    given = {name: list(names) for name, names in wanted.items() if names is not None}
    chosen, kept = chosen_audience(letter.subscribable, **given), audience_of(letter)
    parts = {name: getattr(chosen if name in given else kept, name) for name in wanted}
    check_segment(any_of=parts["any_of"].values(), none_of=parts["none_of"].values())
    return replace(kept, **parts)


def _tags(names: tuple[str, ...], part: str) -> dict[int, str]:
    found = {tag.key: tag for tag in SubscriberTag.objects.filter(key__in=map(tag_key, names))}
    if missing := [name for name in names if tag_key(name) not in found]:
        said = listed_names(missing, "or")
        raise CannotAct(f"No subscriber has ever had the tag {said}. Tags are made by tagging people.", part)
    return {tag.pk: tag.name for tag in found.values()}


def kinds_that(wish: str, newsletter: Subscribable) -> list[str]:
    """Return the channels of a newsletter that change what they sent. Companions always do."""
    if newsletter.arrangement != Subscribable.Arrangement.EACH:
        return []
    own = [newsletter.channel] if wish in wishes(newsletter.options, newsletter.arrangement) else []
    return own + newsletter.companions.split()


def is_tracked(newsletter: Subscribable) -> bool:
    """Return whether it changes posts that were corrected or withdrawn."""
    return any(kinds_that(wish, newsletter) for wish in (EDIT_CORRECTED, DELETE_WITHDRAWN))
