import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, count
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Min, OuterRef, Q, QuerySet, Subquery

from common.db.bulk import count_of
from common.ports import channels
from common.ports.hooks import HookRefused
from common.ports.registries import newsletter_checks
from common.text import one_line
from feeds.models import Feed
from subscriptions.models import Assignable, Subscribable, Subscription
from subscriptions.models.subscribable import HOW_LONG_TO_WAIT, HOW_MANY_POSTS
from subscriptions.newsletters.own_code import hooks_of
from subscriptions.rules import embed_hosts
from subscriptions.rules.schedule import ARRANGEMENTS, Schedule, next_ends, on_weekdays, week_plan
from subscriptions.rules.validation import InvalidSchedule, check_schedule

SCHEDULING = frozenset[str]().union(*ARRANGEMENTS.values())
# In the model's order.
NEWSLETTER_FIELDS = tuple(
    field.name for field in Subscribable._meta.concrete_fields if field.editable and not field.primary_key
)
MAX_PARAMS = 50
DELAY = Subscribable.Approval.DELAY


def next_moments(newsletters: Sequence[Subscribable], *, now: datetime) -> dict[int, datetime | None]:
    """Return ends of open collections or current periods, or None without a calendar. One query.

    A stopped newsletter sends only its open collection.
    """
    rows = Assignable.objects.filter(subscribable__in=newsletters, period_end__isnull=False).order_by()
    open_ends = dict(rows.values_list("subscribable").annotate(Min("period_end")))
    moments: dict[int, datetime | None] = {}
    for each in newsletters:
        ends = [] if each.stopped else next_ends(each.schedule, each.zone, now, 1)
        moments[each.pk] = open_ends.get(each.pk) or next(iter(ends), None)
    return moments


def with_figures(rows: "QuerySet[Subscribable]") -> "QuerySet[Subscribable]":
    """Annotate confirmed subscribers and open collections."""
    closes = Assignable.objects.filter(subscribable=OuterRef("pk")).order_by().values("subscribable")
    return rows.annotate(
        subscribers=count_of(Subscription.objects.confirmed(), "subscribable"),
        open=count_of(Assignable.objects.all(), "subscribable"),
        closes=Subquery(closes.annotate(first=Min("period_end")).values("first")),
    ).prefetch_related("feeds")


def next_close(newsletter: Any, *, now: datetime) -> datetime | None:
    """Return the end of an open collection or the current period, or None without a calendar.

    Needs `with_figures`.
    """
    return newsletter.closes or next(iter(next_ends(newsletter.schedule, newsletter.zone, now, 1)), None)


def define_subscribable(*, name: str, feeds: Sequence[Feed], **fields: Any) -> Subscribable:
    """Create a newsletter or bridge. Raises ValidationError with the field.

    Several `weekdays` become a cron line. Over a feed with credentials, the default is private and closed.
    """
    fields = with_weekdays(fields, Subscribable().schedule)
    refuse_unknown(fields)
    fields = {**usual_access(feeds), **fields}
    refuse_unused(str(fields.get("arrangement", "each")), fields)
    subscribable = Subscribable(name=name, **fields)
    check_subscribable(subscribable)
    # A bridge has no sign-up.
    subscribable.awaits_first_reader = channels.get(subscribable.channel).public_sign_up
    with transaction.atomic():
        _save(subscribable)
        _set_feeds(subscribable, feeds)
    return subscribable


def unused_name(wanted: str) -> str:
    """Return a valid name that no newsletter has; `wanted` if possible."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted)[:56].strip("-") or "newsletter"
    taken = set(Subscribable.objects.filter(name__startswith=name).values_list("name", flat=True))
    numbered = (f"{name}-{n}" for n in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def usual_access(feeds: Iterable[Feed]) -> dict[str, Any]:
    """Return defaults that close a newsletter if one of its feeds needs credentials."""
    if not any(feed.credentials for feed in feeds):
        return {}
    return {"visibility": Subscribable.Visibility.PRIVATE, "sign_up": Subscribable.SignUp.CLOSED}


def open_newsletters(feed: Feed) -> list[str]:
    """Return the feed's newsletters that others can see or join."""
    seen = Q(sign_up=Subscribable.SignUp.OPEN) | ~Q(visibility=Subscribable.Visibility.PRIVATE)
    return [str(row) for row in feed.subscribables.filter(seen)]


def alter_subscribable(
    *, subscribable: Subscribable, feeds: Sequence[Feed] | None = None, **fields: Any
) -> Subscribable:
    """Change fields. Open collections keep their end. Raises ValidationError."""
    fields = with_weekdays(fields, subscribable.schedule)
    refuse_unknown(fields)
    arrangement = str(fields.get("arrangement", subscribable.arrangement))
    refuse_unused(arrangement, fields)
    with transaction.atomic():
        subscribable = Subscribable.objects.select_for_update(no_key=True).get(pk=subscribable.pk)
        moves = fields.get("channel", subscribable.channel) != subscribable.channel
        if moves and subscribable.subscriptions.exists():
            message = "It already has subscribers on its channel. Create another newsletter instead."
            raise ValidationError({"channel": message})
        for field, value in fields.items():
            setattr(subscribable, field, value)
        if arrangement != "every_n":
            subscribable.n = subscribable.max_wait_days = None
        if arrangement != "cron":
            subscribable.cron = ""
        if subscribable.approval != DELAY and "approval_minutes" not in fields:
            subscribable.approval_minutes = None
        check_subscribable(subscribable)
        _save(subscribable)
        if feeds is not None:
            _set_feeds(subscribable, feeds)
    return subscribable


def _save(subscribable: Subscribable) -> None:
    try:
        with transaction.atomic():
            subscribable.save()
    except IntegrityError as error:
        # Another admin took the name after `check_subscribable`.
        raise ValidationError({"name": "There is a newsletter of this name already."}) from error


def _set_feeds(subscribable: Subscribable, feeds: Sequence[Feed]) -> None:
    if not feeds:
        raise ValidationError({"feeds": "Choose at least one feed."})
    pks = {feed.pk for feed in feeds}
    # Locked, so that none is dropped meanwhile.
    there = set(Feed.objects.select_for_update(no_key=True).filter(pk__in=pks).values_list("pk", flat=True))
    if gone := [str(feed) for feed in feeds if feed.pk not in there]:
        raise ValidationError({"feeds": f"No longer there: {', '.join(gone)}. Choose another feed."})
    subscribable.feeds.set(pks)
    # Until now only readers here had them.
    Feed.objects.filter(pk__in=pks, for_letters=False).update(for_letters=True)


def set_extra_params(
    *, subscribable: Subscribable, add: Mapping[str, str], remove: Sequence[str] = ()
) -> Subscribable:
    """Remove, then set parameters, each a %Field% in templates."""
    with transaction.atomic():
        subscribable = Subscribable.objects.select_for_update(no_key=True).get(pk=subscribable.pk)
        kept = {key: value for key, value in subscribable.params.items() if key not in set(remove)}
        subscribable.params = {**kept, **add}
        check_params(subscribable.params)
        for check in newsletter_checks:
            check(subscribable)
        subscribable.save(update_fields=["params"])
    return subscribable


def with_weekdays(given: Mapping[str, Any], now: Schedule) -> dict[str, Any]:
    """Replace `weekdays` by fields of the row. `now`: the present schedule.

    A schedule on several weekdays counts as weekly, so that days or time can be changed alone. Raises
    ValidationError.
    """
    fields = {name: value for name, value in given.items() if name != "weekdays"}
    days, plan, asked = given.get("weekdays"), week_plan(now), fields.get("arrangement")
    if days is not None and fields.get("weekday") is not None:
        raise ValidationError({"weekdays": "Give weekday or weekdays, not both."})
    if asked != "weekly" and (asked is not None or plan is None or fields.get("cron")):
        if days is not None:
            refuse_unused(str(asked or now.arrangement), {"weekdays": days})
        return fields
    if days is None and now.arrangement == "cron" and plan is not None:
        if fields.get("weekday") is not None:
            days = [fields["weekday"]]
        elif asked or fields.get("at") is not None:
            days = plan.weekdays
    if days is None:
        return fields
    refuse_unused("weekly", fields)
    try:
        schedule = on_weekdays(days, fields.get("at") or (plan.at if plan else now.at))
    except ValueError as error:
        raise ValidationError({"weekdays": str(error)}) from error
    fields = {name: value for name, value in fields.items() if name not in SCHEDULING}
    kept = ("arrangement", *ARRANGEMENTS[schedule.arrangement])
    return fields | {name: getattr(schedule, name) for name in kept if hasattr(schedule, name)}


def refuse_unknown(given: Mapping[str, Any]) -> None:
    if unknown := sorted(set(given) - set(NEWSLETTER_FIELDS)):
        raise ValidationError(f"A newsletter has no setting called {', '.join(unknown)}.")


def refuse_unused(arrangement: str, given: Mapping[str, Any]) -> None:
    """Raise ValidationError for options that the arrangement does not use."""
    if arrangement not in ARRANGEMENTS:
        raise ValidationError({"arrangement": f"Choose one of {', '.join(ARRANGEMENTS)}."})
    unused = sorted(
        name for name in SCHEDULING - ARRANGEMENTS[arrangement] if given.get(name) not in (None, "")
    )
    if unused:
        raise ValidationError(dict.fromkeys(unused, f"“{arrangement}” does not use it. Leave it out."))


def check_subscribable(subscribable: Subscribable) -> None:
    """Raise ValidationError with the field."""
    subscribable.full_clean(validate_constraints=False, validate_unique=True)
    try:
        check_schedule(subscribable.schedule, subscribable.time_zone)
    except InvalidSchedule as error:
        raise ValidationError({error.field: str(error)}) from error
    if subscribable.arrangement == Subscribable.Arrangement.EVERY_N and subscribable.n is None:
        raise ValidationError({"n": HOW_MANY_POSTS})
    if subscribable.approval != DELAY and subscribable.approval_minutes is not None:
        raise ValidationError({"approval_minutes": "Only issues that are sent after a delay have one."})
    if subscribable.approval == DELAY and subscribable.approval_minutes is None:
        raise ValidationError({"approval_minutes": HOW_LONG_TO_WAIT})
    if subscribable.welcome == Subscribable.Welcome.SERIES and subscribable.channel != "email":
        raise ValidationError({"welcome": "Only newsletters by email have a series."})
    # They become part of a header.
    for name in ("title", "from_email", "reply_to", "language"):
        if getattr(subscribable, name) != one_line(getattr(subscribable, name)):
            raise ValidationError({name: "Write it on one line, without control characters."})
    try:
        subscribable.embed_hosts = embed_hosts.tidy(subscribable.embed_hosts)
    except embed_hosts.InvalidSite as error:
        raise ValidationError({"embed_hosts": str(error)}) from error
    _check_channel(subscribable)
    check_params(subscribable.params)
    try:
        hooks_of(subscribable)
    except HookRefused as error:
        raise ValidationError({"hooks": str(error)}) from error
    for check in newsletter_checks:
        check(subscribable)


def _check_channel(subscribable: Subscribable) -> None:
    try:
        kind = channels.get(subscribable.channel)
    except channels.InvalidDestination as error:
        raise ValidationError({"channel": str(error)}) from error
    try:
        subscribable.options = kind.parse_options(subscribable.options)
    except channels.InvalidDestination as error:
        raise ValidationError({"options": str(error)}) from error
    if kind.is_companion:
        message = f"{kind.label} can’t be a newsletter. Let a newsletter offer them on its page."
        raise ValidationError({"channel": message})
    if subscribable.offers_devices and not kind.public_sign_up:
        raise ValidationError({"offers_devices": "A bridge has no page that could offer them."})
    if subscribable.offers_devices and subscribable.visibility == Subscribable.Visibility.PRIVATE:
        raise ValidationError({"offers_devices": "A private newsletter has no page that could offer them."})
    if subscribable.arrangement not in kind.arrangements:
        raise ValidationError({"arrangement": f"{kind.label} does not take “{subscribable.arrangement}”."})
    if not kind.public_sign_up:
        subscribable.sign_up = Subscribable.SignUp.CLOSED


def set_companion(newsletter: Subscribable, key: str, *, is_on: bool) -> None:
    """Let a companion carry its issues, or no longer. Run it in a transaction."""
    row = Subscribable.objects.select_for_update(no_key=True).get(pk=newsletter.pk)
    keys = [other for other in row.companions.split() if other != key] + ([key] if is_on else [])
    row.companions = newsletter.companions = " ".join(keys)
    row.save(update_fields=["companions"])


def check_params(params: Mapping[str, Any]) -> None:
    """Raise ValidationError unless names are identifiers and values texts."""
    for key, value in params.items():
        if not key.isidentifier() or len(key) > 64:
            raise ValidationError({"params": f"“{key}” cannot be a field's name: use letters, digits and _."})
        if not isinstance(value, str) or len(value) > 2000:
            raise ValidationError(
                {"params": f"The value of “{key}” must be a text of at most 2,000 characters."}
            )
    if len(params) > MAX_PARAMS:
        raise ValidationError({"params": f"At most {MAX_PARAMS} extra parameters."})
