"""Defining and changing newsletters and bridges."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Min, Q

from common.ports import channels
from common.text import one_line
from feeds.models import Feed
from subscriptions.models import Assignable, Subscribable
from subscriptions.newsletters.own_code import check_hooks
from subscriptions.rules import embed_hosts
from subscriptions.rules.cron_plan import on_weekdays, week_plan
from subscriptions.rules.periods import next_ends
from subscriptions.rules.schedule import Schedule
from subscriptions.rules.validation import InvalidSchedule, check_counts, check_schedule


def next_moments(newsletters: Sequence[Subscribable], *, now: datetime) -> dict[int, datetime | None]:
    """The end of what is being collected, else of the period that is open; None for those without a calendar.

    One question for all of them. One that takes no new posts sends only what is being collected.
    """
    rows = Assignable.objects.filter(subscribable__in=newsletters, period_end__isnull=False).order_by()
    open_ends = dict(rows.values_list("subscribable").annotate(Min("period_end")))
    found: dict[int, datetime | None] = {}
    for each in newsletters:
        ends = [] if each.stopped else next_ends(each.schedule, each.zone, now, 1)
        found[each.pk] = open_ends.get(each.pk) or next(iter(ends), None)
    return found


# The fields that each arrangement uses besides the time zone. Any other that is given is refused.
USES: Mapping[str, frozenset[str]] = {
    "each": frozenset(),
    "daily": frozenset({"at"}),
    "weekly": frozenset({"at", "weekday", "weekdays"}),
    "monthly": frozenset({"at", "day_of_month"}),
    "every_n": frozenset({"n", "max_wait_days"}),
    "cron": frozenset({"cron"}),
}
SCHEDULING = frozenset().union(*USES.values())
# Set by the program itself, as collections open and issues go out.
SET_BY_PROGRAM = frozenset({"id", "counter", "issued_through", "last_completed_wti", "created_at"}) | {
    "sending_paused_at",
    "sending_paused_reason",
    "awaits_first_reader",
}
EDITABLE = frozenset(field.name for field in Subscribable._meta.concrete_fields) - SET_BY_PROGRAM
MAX_PARAMS = 50
MAX_GRACE = 7 * 24 * 60
LONGEST_APPROVAL = 30 * 24 * 60
DELAY = Subscribable.Approval.DELAY
# Added by later apps. Each raises ValidationError, naming the field, for a newsletter that could not work.
checks_of_later_apps: list[Callable[[Subscribable], None]] = []


def define_subscribable(*, name: str, feeds: Sequence[Feed], **fields: Any) -> Subscribable:
    """A new newsletter or bridge. Raises ValidationError, naming the field.

    A weekly one takes `weekdays`, too: several are kept as a cron line. Over a feed that needs credentials
    it is private and closed, unless `fields` say otherwise.
    """
    fields = with_weekdays(fields, Subscribable().schedule)
    refuse_unknown(fields)
    fields = {**usual_access(feeds), **fields}
    refuse_unused(str(fields.get("arrangement", "each")), fields)
    subscribable = Subscribable(name=name, **fields)
    check_subscribable(subscribable)
    # A bridge has no sign-up to wait for.
    subscribable.awaits_first_reader = channels.get(subscribable.channel).public_sign_up
    with transaction.atomic():
        _save(subscribable)
        _set_feeds(subscribable, feeds)
    return subscribable


def usual_access(feeds: Iterable[Feed]) -> dict[str, Any]:
    """Visibility and sign-up of a newsletter over these feeds, when nobody says; {} for the usual ones."""
    if not any(feed.credentials for feed in feeds):
        return {}
    return {"visibility": Subscribable.Visibility.PRIVATE, "sign_up": Subscribable.SignUp.CLOSED}


def open_newsletters(feed: Feed) -> list[str]:
    """The newsletters of a feed that others can see or sign up to."""
    seen = Q(sign_up=Subscribable.SignUp.OPEN) | ~Q(visibility=Subscribable.Visibility.PRIVATE)
    return [str(row) for row in feed.subscribables.filter(seen)]


def alter_subscribable(
    *, subscribable: Subscribable, feeds: Sequence[Feed] | None = None, **fields: Any
) -> Subscribable:
    """Changes the named fields, and `weekdays`. Open collections keep their stored end.

    Raises ValidationError.
    """
    fields = with_weekdays(fields, subscribable.schedule)
    refuse_unknown(fields)
    arrangement = str(fields.get("arrangement", subscribable.arrangement))
    refuse_unused(arrangement, fields)
    with transaction.atomic():
        subscribable = Subscribable.objects.select_for_update(no_key=True).get(pk=subscribable.pk)
        moves = fields.get("channel", subscribable.channel) != subscribable.channel
        if moves and subscribable.subscriptions.exists():
            message = "It has subscribers of its channel already. Define another newsletter beside it."
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
        # `check_subscribable` has looked for the name, but another admin may have been as quick.
        raise ValidationError({"name": "There is a newsletter of this name already."}) from error


def _set_feeds(subscribable: Subscribable, feeds: Sequence[Feed]) -> None:
    if not feeds:
        raise ValidationError({"feeds": "Choose at least one feed."})
    pks = {feed.pk for feed in feeds}
    # Locked, so that none of them is dropped before it is ours.
    there = set(Feed.objects.select_for_update(no_key=True).filter(pk__in=pks).values_list("pk", flat=True))
    if gone := [str(feed) for feed in feeds if feed.pk not in there]:
        raise ValidationError({"feeds": f"No longer there: {', '.join(gone)}. Choose another feed."})
    subscribable.feeds.set(pks)
    # So far only people who read here had them. What they publish from now on is sent.
    Feed.objects.filter(pk__in=pks, for_letters=False).update(for_letters=True)


def set_extra_params(
    *, subscribable: Subscribable, add: Mapping[str, str], remove: Sequence[str] = ()
) -> Subscribable:
    """Sets and removes extra parameters; each is a %Field% in templates. Removals come first."""
    with transaction.atomic():
        subscribable = Subscribable.objects.select_for_update(no_key=True).get(pk=subscribable.pk)
        kept = {key: value for key, value in subscribable.params.items() if key not in set(remove)}
        subscribable.params = {**kept, **add}
        check_params(subscribable.params)
        for check_of_later_app in checks_of_later_apps:
            check_of_later_app(subscribable)
        subscribable.save(update_fields=["params"])
    return subscribable


def with_weekdays(given: Mapping[str, Any], now: Schedule) -> dict[str, Any]:
    """The fields, with those of the row in place of `weekdays`; `now` is the schedule so far.

    Whatever comes on several weekdays counts as weekly here, so that its days or its hour can be changed
    alone. Raises ValidationError.
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
    kept = ("arrangement", *USES[schedule.arrangement])
    return fields | {name: getattr(schedule, name) for name in kept if hasattr(schedule, name)}


def refuse_unknown(given: Mapping[str, Any]) -> None:
    """Raises ValidationError for a name that is no field of a newsletter, or that only the program sets."""
    if unknown := sorted(set(given) - EDITABLE):
        raise ValidationError(f"A newsletter has no setting called {', '.join(unknown)}.")


def refuse_unused(arrangement: str, given: Mapping[str, Any]) -> None:
    """Raises ValidationError for scheduling options that the arrangement does not use."""
    if arrangement not in USES:
        raise ValidationError({"arrangement": f"Choose one of {', '.join(USES)}."})
    unused = sorted(name for name in SCHEDULING - USES[arrangement] if given.get(name) not in (None, ""))
    if unused:
        raise ValidationError(dict.fromkeys(unused, f"“{arrangement}” does not use it. Leave it out."))


def check_subscribable(subscribable: Subscribable) -> None:
    """Raises ValidationError, naming the field, for a newsletter that could not work."""
    subscribable.full_clean(validate_constraints=False, validate_unique=True)
    try:
        check_schedule(subscribable.schedule, subscribable.time_zone)
        if subscribable.arrangement == Subscribable.Arrangement.EVERY_N:
            check_counts(subscribable.n, subscribable.max_wait_days)
    except InvalidSchedule as error:
        raise ValidationError({error.field: str(error)}) from error
    if subscribable.grace_minutes > MAX_GRACE:
        raise ValidationError({"grace_minutes": f"At most {MAX_GRACE} minutes, which is a week."})
    minutes = subscribable.approval_minutes
    if subscribable.approval != DELAY and minutes is not None:
        raise ValidationError({"approval_minutes": "Only what goes out after a while has such a time."})
    if subscribable.approval == DELAY and not 1 <= (minutes or 0) <= LONGEST_APPROVAL:
        text = f"Say after how many minutes it goes out: 1 to {LONGEST_APPROVAL:,}, which is 30 days."
        raise ValidationError({"approval_minutes": text})
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
    check_hooks(subscribable)
    for check_of_later_app in checks_of_later_apps:
        check_of_later_app(subscribable)


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
        said = f"{kind.label} come beside a newsletter: let one offer them on its page."
        raise ValidationError({"channel": said})
    if subscribable.offers_devices and not kind.public_sign_up:
        raise ValidationError({"offers_devices": "A bridge has no page whose readers could ask for them."})
    if subscribable.offers_devices and subscribable.visibility == Subscribable.Visibility.PRIVATE:
        raise ValidationError({"offers_devices": "A private newsletter has no page that could offer them."})
    if subscribable.arrangement not in kind.arrangements:
        raise ValidationError({"arrangement": f"{kind.label} does not take “{subscribable.arrangement}”."})
    if not kind.public_sign_up:
        subscribable.sign_up = Subscribable.SignUp.CLOSED


def check_params(params: Mapping[str, Any]) -> None:
    """Raises ValidationError for parameters that could not be fields: names are words, values are texts."""
    for key, value in params.items():
        if not key.isidentifier() or len(key) > 64:
            raise ValidationError({"params": f"“{key}” cannot be a field's name: use letters, digits and _."})
        if not isinstance(value, str) or len(value) > 2000:
            raise ValidationError(
                {"params": f"The value of “{key}” must be a text of at most 2,000 characters."}
            )
    if len(params) > MAX_PARAMS:
        raise ValidationError({"params": f"At most {MAX_PARAMS} extra parameters."})
