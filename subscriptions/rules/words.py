"""English schedules and moments, whatever the locale."""

from datetime import datetime, time
from zoneinfo import ZoneInfo

from common.text import joined
from common.zones import zone_words
from subscriptions.rules.cron_plan import LAST_DAY, MONDAY_TO_FRIDAY, CronPlan, cron_plan
from subscriptions.rules.schedule import Schedule, explained

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def describe(schedule: Schedule, n: int | None, zone: ZoneInfo) -> str:
    """Return "every Monday at 7:00, New York time", to follow "It comes"."""
    at = f"at {clock_words(schedule.at)}, {zone_words(zone)}"
    match schedule.arrangement:
        case "daily":
            return f"every day {at}"
        case "weekly":
            return f"every {WEEKDAYS[schedule.weekday]} {at}"
        case "monthly":
            day = schedule.day_of_month
            if day == 31:
                return f"on the last day of each month {at}"
            return f"on the {ordinal(day)} of each month{' (or its last day)' if day > 28 else ''} {at}"
        case "cron":
            plan = cron_plan(schedule.cron)
            words = _plan_words(plan) if plan else explained(schedule.cron)
            return f"{words[:1].lower()}{words[1:]}, {zone_words(zone)}" if words else "on its own schedule"
        case "every_n" if n is not None and n > 1:
            return f"every {n} posts"
    return "each post as it appears"


def _plan_words(plan: CronPlan) -> str:
    at = f"at {joined(clock_words(each) for each in plan.times)}"
    if plan.weekdays == MONDAY_TO_FRIDAY:
        return f"every day from Monday to Friday {at}"
    if plan.weekdays:
        return f"every {joined(WEEKDAYS[day] for day in plan.weekdays)} {at}"
    if plan.days_of_month:
        days = ("last day" if day == LAST_DAY else ordinal(day) for day in plan.days_of_month)
        return f"on the {joined(days)} of each month {at}"
    return f"every day {at}"


def moment_words(moment: datetime, zone: ZoneInfo) -> str:
    """Return "Monday, 23 November 2026 at 7:00, New York time"."""
    local = moment.astimezone(zone)
    day = f"{WEEKDAYS[local.weekday()]}, {local.day} {MONTHS[local.month - 1]} {local.year}"
    return f"{day} at {clock_words(local.time())}, {zone_words(zone)}"


def clock_words(at: time) -> str:
    return f"{at.hour}:{at.minute:02}"


def ordinal(day: int) -> str:
    suffix = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"
