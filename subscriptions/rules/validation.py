from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from common.clock import zone_names
from common.refused import Refused
from subscriptions.rules.schedule import ARRANGEMENTS, Schedule, check_cron

TYPES = {"email", "sms", "mastodon", "bluesky"}
# Fields that identify a type. Bluesky is never guessed.
SIGNS: Mapping[str, Sequence[frozenset[str]]] = {
    "email": (frozenset({"addressPart"}), frozenset({"address"})),
    "mastodon": (frozenset({"name", "instanceUrl"}),),
    "sms": (frozenset({"number"}),),
}


class InvalidSchedule(Refused):
    """`field` is the form field; the message is a sentence for the admin."""


def check_schedule(schedule: Schedule, time_zone: str) -> ZoneInfo:
    """Raises InvalidSchedule."""
    try:
        zone = check_zone(time_zone)
    except ValueError as error:
        raise InvalidSchedule(str(error), "time_zone") from None
    if schedule.arrangement not in ARRANGEMENTS:
        names = ", ".join(sorted(ARRANGEMENTS))
        unknown = f"There is no arrangement “{schedule.arrangement}”. Use: {names}."
        raise InvalidSchedule(unknown, "arrangement")
    if schedule.at.second or schedule.at.microsecond or schedule.at.tzinfo is not None:
        raise InvalidSchedule("The time is hours and minutes, such as 07:00.", "at")
    if not 0 <= schedule.weekday <= 6:
        raise InvalidSchedule("The weekday is 0 for Monday to 6 for Sunday.", "weekday")
    if not 1 <= schedule.day_of_month <= 31:
        raise InvalidSchedule("The day of the month is 1 to 31.", "day_of_month")
    if schedule.arrangement == "cron":
        try:
            check_cron(schedule.cron)
        except ValueError as error:
            raise InvalidSchedule(str(error), "cron") from None
    return zone


def check_zone(name: str) -> ZoneInfo:
    """Raises ValueError with similar names."""
    if name in zone_names():
        return ZoneInfo(name)
    folded = {known.casefold(): known for known in zone_names()}
    near = get_close_matches(name[:64].casefold().replace(" ", "_"), folded, n=3)
    hint = (
        f"Did you mean {' or '.join(folded[key] for key in near)}?"
        if near
        else "Use one such as Europe/Paris."
    )
    raise ValueError(f"There is no time zone “{name[:64]}”. {hint}")


class WrongFields(Refused):
    """The message is for the form's author."""


@dataclass(frozen=True, slots=True)
class UpstreamSignUp:
    """`type` is lower case; `email` and `name` may be empty."""

    newsletter: str
    type: str = "email"
    email: str = ""
    name: str = ""


def read_sign_up(pairs: Iterable[tuple[str, str]]) -> UpstreamSignUp:
    """Raises WrongFields for a contradiction, or if no newsletter is named."""
    fields: dict[str, str] = {}
    for name, value in pairs:
        value = value.strip()
        if value and fields.setdefault(name, value) != value:
            raise WrongFields(f"It says {name[:40]} twice, and not the same.")
    newsletter = fields.get("subscribableName", "")
    if not newsletter:
        raise WrongFields("It does not say which newsletter (subscribableName).")
    given = fields.get("destinationType") or fields.get("type", "")
    if given and given.lower() not in TYPES:
        raise WrongFields(f"It names a destination that there is not: {given[:40]}.")
    guessed = [kind for kind, signs in SIGNS.items() if any(sign <= fields.keys() for sign in signs)]
    if not given and len(guessed) > 1:
        raise WrongFields(f"It names several destinations: {', '.join(guessed)}. Name one.")
    return UpstreamSignUp(
        newsletter,
        given.lower() or (guessed[0] if guessed else "email"),
        _first(fields, "addressPart", "address", "email"),
        _first(fields, "displayNamePart", "displayName", "name"),
    )


def _first(fields: Mapping[str, str], *names: str) -> str:
    return next((fields[name] for name in names if name in fields), "")
