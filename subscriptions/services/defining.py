"""Defining and changing newsletters and bridges."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from common import kinds
from feeds.models import Feed
from subscriptions.models import Subscribable
from subscriptions.rules.validation import InvalidSchedule, check_counts, check_schedule
from subscriptions.services.schedules import schedule_of

# What each arrangement uses besides the time zone; anything else given is refused.
USES: Mapping[str, frozenset[str]] = {
    "each": frozenset(),
    "daily": frozenset({"at"}),
    "weekly": frozenset({"at", "weekday"}),
    "monthly": frozenset({"at", "day_of_month"}),
    "every_n": frozenset({"n", "max_wait_days"}),
    "cron": frozenset({"cron"}),
}
SCHEDULING = frozenset().union(*USES.values())
MAX_PARAMS = 50
# Set by the delivery app: raises ValidationError for a template it does not have.
template_checks: list[Callable[[Subscribable], None]] = []


def define_subscribable(*, name: str, feeds: Sequence[Feed], **fields: Any) -> Subscribable:
    """A new newsletter or bridge. Raises ValidationError, naming the field."""
    refuse_unused(str(fields.get("arrangement", "each")), fields)
    subscribable = Subscribable(name=name, **fields)
    if not feeds:
        raise ValidationError({"feeds": "Choose at least one feed."})
    check(subscribable)
    with transaction.atomic():
        subscribable.save()
        subscribable.feeds.set(feeds)
    return subscribable


def alter_subscribable(
    *, subscribable: Subscribable, feeds: Sequence[Feed] | None = None, **fields: Any
) -> Subscribable:
    """Changes the named fields. Open collections keep their stored end. Raises ValidationError."""
    arrangement = str(fields.get("arrangement", subscribable.arrangement))
    refuse_unused(arrangement, fields)
    with transaction.atomic():
        subscribable = Subscribable.objects.select_for_update(no_key=True).get(pk=subscribable.pk)
        for field, value in fields.items():
            setattr(subscribable, field, value)
        _forget_unused(subscribable, arrangement)
        check(subscribable)
        subscribable.save()
        if feeds is not None:
            if not feeds:
                raise ValidationError({"feeds": "Choose at least one feed."})
            subscribable.feeds.set(feeds)
    return subscribable


def set_extra_params(
    *, subscribable: Subscribable, add: Mapping[str, str], remove: Sequence[str] = ()
) -> Subscribable:
    """Sets and removes extra parameters; each is a %Field% in templates. Removals come first."""
    with transaction.atomic():
        subscribable = Subscribable.objects.select_for_update(no_key=True).get(pk=subscribable.pk)
        kept = {key: value for key, value in subscribable.params.items() if key not in set(remove)}
        subscribable.params = {**kept, **add}
        check_params(subscribable.params)
        subscribable.save(update_fields=["params"])
    return subscribable


def refuse_unused(arrangement: str, given: Mapping[str, Any]) -> None:
    """Raises ValidationError for scheduling options that the arrangement does not use."""
    if arrangement not in USES:
        raise ValidationError({"arrangement": f"Choose one of {', '.join(USES)}."})
    unused = {name for name in SCHEDULING - USES[arrangement] if given.get(name) not in (None, "")}
    if unused:
        words = ", ".join(sorted(unused))
        raise ValidationError(f"“{arrangement}” does not use {words}. Leave that out.")


def _forget_unused(subscribable: Subscribable, arrangement: str) -> None:
    if arrangement != "every_n":
        subscribable.n = subscribable.max_wait_days = None
    if arrangement != "cron":
        subscribable.cron = ""


def check(subscribable: Subscribable) -> None:
    """Raises ValidationError, naming the field, for a newsletter that could not work."""
    subscribable.full_clean(validate_constraints=False, validate_unique=True)
    try:
        check_schedule(schedule_of(subscribable), subscribable.time_zone)
        if subscribable.arrangement == Subscribable.Arrangement.EVERY_N:
            check_counts(subscribable.n, subscribable.max_wait_days)
    except InvalidSchedule as error:
        raise ValidationError({error.field: str(error)}) from error
    _check_channel(subscribable)
    check_params(subscribable.params)
    for check_template in template_checks:
        check_template(subscribable)


def _check_channel(subscribable: Subscribable) -> None:
    try:
        kind = kinds.get(subscribable.channel)
        subscribable.options = kind.parse_options(subscribable.options)
    except kinds.InvalidDestination as error:
        raise ValidationError({"channel": str(error)}) from error
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
