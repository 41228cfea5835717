import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

MAX_DATE = 100

# RFC 3339 and variants.
_ISO = re.compile(
    r"(\d{4})([-/.]?)(\d\d)\2(\d\d)"
    r"(?:[T\s]\s*(\d\d?):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,6})\d*)?)?\s*(?:(Z|UTC|GMT)|([+-])(\d\d)(?::?(\d\d))?)?"
    r"(?:\[[^\]]*\])?)?",
    re.IGNORECASE | re.ASCII,
)
# As people and web sites write them, in the languages of the interface and some more.
_WRITTEN = re.compile(
    r"(?:[^\W\d]+\.?,?\s+)?(?:den\s+|le\s+)?(?:"
    r"(?P<d1>\d\d?)(?:\.|st|nd|rd|th|er|º)?\s*(?:de\s+)?(?P<m1>[^\W\d]+)\.?,?\s+(?:de\s+)?(?P<y1>\d{4})"
    r"|(?P<m2>[^\W\d]+)\.?\s+(?P<d2>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<y2>\d{4})"
    r"|(?P<d3>\d\d?)\.(?P<m3>\d\d?)\.(?P<y3>\d{4})"
    r"|(?P<y4>\d{4})[年-](?P<m4>\d\d?)[月-](?P<d4>\d\d?)日?"
    r")(?:\s*г\.)?"
    r"(?:(?:,|\s-|\s–|T|\sat|\sum|\sà|\sa las|\sàs|\sв)?\s*(?P<hour>\d\d?)[:h時](?P<minute>\d\d)分?"
    r"(?::(?P<second>[0-5]\d)(?:\.\d+)?)?(?:\s*Uhr)?"
    r"(?:\s*(?P<zone>[A-Za-z]+(?:/[A-Za-z_]+)*)?(?:(?P<sign>[+-])(?P<hours>\d\d?):?(?P<minutes>\d\d)?)?)"
    r"(?:\s*\([^()]*\))?)?",
    re.IGNORECASE,
)
_MONTHS_WRITTEN = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jänner janvier janv enero ene janeiro gennaio января янв",
            "feb february februar février fevrier févr febrero fevereiro fev febbraio февраля фев",
            "mar march märz maerz mär mars marzo março marco марта мар",
            "apr april avril avr abril abr aprile апреля апр",
            "may mai mayo maio maggio мая май",
            "jun june juni juin junio junho giugno июня июн",
            "jul july juli juillet juil julio julho luglio июля июл",
            "aug august août aout agosto ago августа авг",
            "sep sept september septembre septiembre setiembre setembro set settembre сентября сен",
            "oct october oktober okt octobre octubre outubro out ottobre октября окт",
            "nov november novembre noviembre novembro ноября ноя",
            "dec december dezember dez décembre decembre déc diciembre dic dezembro dicembre декабря дек",
        ),
        1,
    )
    for name in names.split()
}
# Hours. Ambiguous ones are those with most people.
_ZONES = {
    name: hours
    for hours, names in (
        *((0, "Z UT UTC GMT WET"), (1, "CET MEZ BST WEST WAT"), (2, "CEST MESZ EET CAT SAST")),
        *((3, "EEST MSK EAT"), (4, "GST"), (5, "PKT"), (5.5, "IST"), (7, "WIB ICT"), (8, "AWST SGT HKT PHT")),
        *((9, "JST KST"), (9.5, "ACST"), (10, "AEST"), (10.5, "ACDT"), (11, "AEDT")),
        *((12, "NZST"), (13, "NZDT"), (-2.5, "NDT"), (-3, "BRT ART ADT"), (-3.5, "NST"), (-4, "EDT AST")),
        *((-5, "EST CDT"), (-6, "CST MDT"), (-7, "MST PDT"), (-8, "PST AKDT"), (-9, "AKST"), (-10, "HST")),
    )
    for name in names.split()
}
_SECONDS = re.compile(r"1\d{9}(?:\d{3})?", re.ASCII)
# RFC 5322 §3.3, usual form.
_MAIL = re.compile(
    r"[A-Z][a-z]{2}, (\d\d?) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):([0-5]\d)"
    r" (?:(GMT|UTC?|Z)|([+-])(\d\d):?(\d\d))",
    re.ASCII,
)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_ISO_START = re.compile(r"\d{4}[-/.]?\d\d", re.ASCII)
_YEAR = re.compile(r"(?<!\d)(?:19|20|21)\d\d(?!\d)", re.ASCII)
_COLON_IN_ZONE = re.compile(r"([+-]\d\d):(\d\d)$", re.ASCII)
_STRANGE_ZONE = re.compile(
    r"\d\s+(?!(?:UTC?|GMT|Z|[ECMP][SD]T)$)[A-Za-z]{1,5}$|\d\s+[A-Za-z]{1,5}[+-]\d", re.ASCII | re.IGNORECASE
)
# From a computer without a clock.
_NO_YEAR = re.compile(r"[A-Za-z]{3}\.?[\s-]+(?:0\d{3}|\d{3}|\d{5,})(?!\d)", re.ASCII)
# The mail parser ignores PM.
_HALF_DAY = re.compile(r"(?<![\d:])(\d{1,2})((?::[0-5]\d){1,2})\s*([AaPp])\.?[Mm]\.?(?![A-Za-z])", re.ASCII)
# RFC 5322 §3.3 allows leap seconds; datetime does not.
_LEAP = re.compile(r"(\d\d:\d\d:)60", re.ASCII)
# From the beginning of a day in UTC to its end in the last zone; half of it without a zone.
A_DAY_ANYWHERE = timedelta(hours=36)
A_ZONE = timedelta(hours=12)
_TIME = re.compile(r"\d:\d\d|T\d{4}", re.ASCII)
_MIDNIGHT = re.compile(r"(?<![\d:+-])0?0:00(?::00(?:\.0+)?)?(?![\d:])", re.ASCII)
_ZONE = re.compile(
    r"(?:[+-]\d\d(?::?\d\d)?|(?<![A-Za-z])(?![AaPp][Mm]$)[A-Za-z]{1,5})\s*(?:[\[(].*)?$", re.ASCII
)


def parsed_moment(text: object) -> datetime | None:
    """Parse dates like RFC 3339 or RFC 5322, by default in UTC."""
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_DATE:
        return None
    written = _HALF_DAY.sub(_of_the_clock, text.strip())
    try:
        if mail := _MAIL.fullmatch(written):
            day, month, year, hour, minute, second, _, sign, hours, minutes = mail.groups()
            if month not in _MONTHS or year < "1900":
                return None
            zone = _zone(sign, hours, minutes)
            moment = datetime(
                int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second), tzinfo=zone
            )
            return moment.astimezone(UTC)
        if iso := _ISO.fullmatch(written):
            return _of_iso(iso).astimezone(UTC)
        if date := _WRITTEN.fullmatch(written):
            return _of_words(date)
        if _SECONDS.fullmatch(written):
            return datetime.fromtimestamp(int(written[:10]), UTC)
        if _ISO_START.match(written) or _NO_YEAR.search(written):
            return None
        mail_moment = mail_date(_LEAP.sub(r"\g<1>59", _COLON_IN_ZONE.sub(r"\1\2", written)))
        return mail_moment and mail_moment + timedelta(seconds=bool(_LEAP.search(written)))
    except (ValueError, TypeError, IndexError, OverflowError, KeyError, OSError):
        # ZoneInfo raises KeyError and OSError.
        return None


def mail_date(text: str) -> datetime | None:
    """Parse RFC 5322 or HTTP (RFC 9110 §5.6.7)."""
    try:
        date = parsedate_to_datetime(text.strip()[:MAX_DATE])
        return date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def slack_of(text: str) -> timedelta:
    """Return how much later than `moment_of` it may be.

    Midnight, or no time, may mean the end of the day in any zone.
    """
    written = _HALF_DAY.sub(_of_the_clock, text.strip()[:MAX_DATE])
    if not written or not _TIME.search(written) or _MIDNIGHT.search(written):
        return A_DAY_ANYWHERE if written else timedelta(0)
    return timedelta(0) if _ZONE.search(written) else A_ZONE


def _of_the_clock(match: re.Match[str]) -> str:
    hour, rest, half = int(match.group(1)), match.group(2), match.group(3).lower()
    return f"{hour % 12 + 12 * (half == 'p'):02}{rest}" if 1 <= hour <= 12 else match.group()


def is_zone_unknown(text: str) -> bool:
    """Return whether the zone is not in RFC 5322 ("GMT+2"), and read as UTC."""
    written = _HALF_DAY.sub(_of_the_clock, text.strip())
    return bool(_STRANGE_ZONE.search(written)) and not _WRITTEN.fullmatch(written)


def is_guess(text: str, year: int) -> bool:
    if _ISO_START.match(text.strip()) and not re.fullmatch(r"\d{4}-\d\d", text.strip(), re.ASCII):
        return True
    years = {int(year_text) for year_text in _YEAR.findall(text)}
    return not years & {year - 1, year, year + 1}


def _of_words(date: re.Match[str]) -> datetime:
    """Raises ValueError for an unknown month or zone."""
    parts = date.groupdict()
    year, month, day = (next(filter(None, (parts[f"{part}{way}"] for way in "1234"))) for part in "ymd")
    number = int(month) if month.isdecimal() else _MONTHS_WRITTEN.get(month.lower(), 0)
    zone: tzinfo = _zone(parts["sign"], parts["hours"], parts["minutes"])
    if (name := parts["zone"]) and name.upper() in _ZONES:
        zone = zone if parts["sign"] else timezone(timedelta(hours=_ZONES[name.upper()]))
    elif name and name not in ("h", "Uhr"):
        zone = ZoneInfo(name)
    hour, minute, second = (int(parts[part] or 0) for part in ("hour", "minute", "second"))
    return datetime(int(year), number, int(day), hour, minute, second, tzinfo=zone).astimezone(UTC)


def _of_iso(match: re.Match[str]) -> datetime:
    year, _, month, day, hour, minute, second, fraction, _, sign, hours, minutes = match.groups()
    leap, midnight = second == "60", hour == "24" and not int(minute) and not int(second or 0)
    moment = datetime(
        int(year),
        int(month),
        int(day),
        0 if midnight else int(hour or 0),
        int(minute or 0),
        59 if leap else int(second or 0),
        int((fraction or "").ljust(6, "0")),
        tzinfo=_zone(sign, hours, minutes),
    )
    return moment + timedelta(days=midnight, seconds=leap)


def _zone(sign: str | None, hours: str | None, minutes: str | None) -> timezone:
    if not sign:
        return UTC
    away = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return timezone(-away if sign == "-" else away)
