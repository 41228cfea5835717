"""Notes of the report on settings and queues that are not imported. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from common.text import one_line
from feedletter_site.migrate_from.feedletter.dump import Row, text
from feedletter_site.migrate_from.report import ImportResult, Line


def queued(tables: Mapping[str, Sequence[Row]]) -> Iterable[Line]:
    advice = (
        "It waited in a queue, which isn’t imported. Start feedletter once more until its queues are empty,"
        " then stop it and import again."
    )
    for table, place, subject in (
        ("mailable", "mail_to", "mail_subject"),
        ("immediately_mailable", "mail_to", "subject"),
        ("masto_postable", "name", "final_content"),
        ("bsky_postable", "identifier", "final_content"),
    ):
        for row in tables[table]:
            name = f"{text(row, place)}: {one_line(text(row, subject))[:100]}"
            yield Line(ImportResult.REFUSED, "queued message", name, advice)


def notes_about(config: Mapping[str, str], read_until: Sequence[datetime], zone: ZoneInfo) -> list[str]:
    host, protocol = config.get("WebApiHostName", ""), config.get("WebApiProtocol", "https")
    port, path = config.get("WebApiPort", ""), config.get("WebApiBasePath", "").strip("/")
    notes = [
        "Newsletters are imported paused and unlisted. Check each one, then start sending.",
        "Untemplates and customizers in Scala aren’t in the database. Rules and hooks replace them.",
        "Set UPSTREAM_SALT to its feedletter.secret.salt, so that links in old emails keep working.",
    ]
    if host:
        address = f"{protocol}://{host}{f':{port}' if port else ''}"
        notes.append(f"Set SITE_URL to {address}, so that links in old emails reach this server.")
    if path:
        notes.append(f"Its links began with /{path}/: let your web server remove that part.")
    if hours := config.get("ConfirmHours"):
        notes.append(f"ConfirmHours was {hours}: set CONFIRM_HOURS={hours} to keep it.")
    size, delay = _number(config, "MailBatchSize", 100), _number(config, "MailBatchDelaySeconds", 600)
    if delay:
        notes.append(
            f"It sent at most {size * 3600 // delay:,} emails an hour. Set that limit in Email set-up."
        )
    if last := max(read_until, default=None):
        notes.append(
            f"By the time zone {zone.key}, it last read a feed on {last:%Y-%m-%d at %H:%M} UTC. Check that,"
            " and stop it before you import."
        )
    return notes


def _number(config: Mapping[str, str], key: str, usual: int) -> int:
    text = config.get(key, "")
    return int(text) if text.isascii() and text.isdigit() else usual
