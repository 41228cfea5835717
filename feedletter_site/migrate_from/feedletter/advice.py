"""Notes of the report on settings that are not imported. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from feedletter_site.migrate_from.feedletter.environment import confirm_hours, site_url


def notes_about(
    config: Mapping[str, str], secrets: Mapping[str, str], read_until: Sequence[datetime], zone: ZoneInfo
) -> list[str]:
    path = config.get("WebApiBasePath", "").strip("/")
    notes = [
        "Newsletters are imported paused and unlisted. Check each one, then resume sending.",
        "Emails keep its subjects, such as “[name] New Post: Title”, so that readers’ filters still match.",
        "Untemplates and customizers in Scala aren’t in the database. Rules and hooks replace them.",
        "The salt of its links is stored here, encrypted, so that links in old emails keep working."
        if secrets.get("feedletter.secret.salt")
        else "Import again with its feedletter-secrets.properties, or set UPSTREAM_SALT to its"
        " feedletter.secret.salt, so that links in old emails keep working.",
    ]
    if host := secrets.get("mail.smtp.host"):
        notes.append(f"It sent emails through {host}. Enter that server and its login in Email set-up.")
    if address := site_url(config):
        notes.append(f"Set SITE_URL to {address}, so that links in old emails reach this server.")
    if path:
        notes.append(f"Its links began with /{path}/: let your web server remove that part.")
    if hours := confirm_hours(config):
        notes.append(f"ConfirmHours was {config['ConfirmHours']}: set CONFIRM_HOURS={hours} to keep it.")
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
