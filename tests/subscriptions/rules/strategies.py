"""Random zones, moments and schedules."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import strategies as st

from subscriptions.rules.schedule import Schedule

# Half the draws are the awkward ones: half-hour daylight saving, changes at midnight, a skipped date.
AWKWARD = [
    *("America/New_York", "Australia/Lord_Howe", "Pacific/Kiritimati", "Asia/Kolkata", "Pacific/Apia"),
    *("America/St_Johns", "America/Havana", "America/Santiago", "Atlantic/Azores", "Africa/Casablanca"),
    *("Europe/Dublin", "Asia/Kathmandu", "America/Sao_Paulo", "Asia/Gaza", "Antarctica/Troll", "UTC"),
]
LINES = [
    *("0 7 * * 1,4", "*/15 * * * *", "30 2 * * *", "0 0 1 * *", "59 23 31 12 *", "0 */5 * * *", "0 0 L * *"),
    *("0 0 29 2 *", "30 1-2 * 3,10,11 0", "0 9 * * 1#1", "15 0,12 13 * 5", "* * * * *", "0 2 30 * *"),
]

# Wall-clock readings; Hypothesis requires bounds without a zone.
EARLIEST, LATEST = datetime(1995, 1, 1), datetime(2095, 1, 1)  # noqa: DTZ001

zones = st.one_of(st.sampled_from(AWKWARD), st.sampled_from(sorted(available_timezones()))).map(ZoneInfo)
moments = st.datetimes(EARLIEST, LATEST, timezones=st.just(UTC))
readings = st.datetimes(EARLIEST, LATEST).map(lambda at: at.replace(microsecond=0))
times = st.builds(time, st.integers(0, 23), st.integers(0, 59))
schedules = st.one_of(
    st.builds(Schedule, st.just("daily"), times),
    st.builds(Schedule, st.just("weekly"), times, st.integers(0, 6)),
    st.builds(Schedule, st.just("monthly"), times, day_of_month=st.integers(1, 31)),
    st.builds(Schedule, st.just("cron"), cron=st.sampled_from(LINES)),
)
