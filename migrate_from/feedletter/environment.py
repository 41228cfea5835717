"""feedletter's configuration and secrets as an environment file for Feedletter. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import quote
from zoneinfo import ZoneInfo

_SECURE = {"true", "yes", "1"}
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_BARE = re.compile(r"[\w./:@%+,=\[\]-]*", re.ASCII)
_SHELL = re.compile(r'(["\\$`])')
USUAL_PORT, LONGEST_CONFIRMATION = "8024", 8760
PLAIN, STARTTLS, TLS = ("smtp", "25"), ("smtp+starttls", "587"), ("smtps", "465")


def environment(config: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """Return what is known, by our names."""
    interface, port = config.get("WebDaemonInterface", "127.0.0.1"), config.get("WebDaemonPort", USUAL_PORT)
    values = {
        "SITE_URL": site_url(config),
        "BIND": f"[{interface}]:{port}" if ":" in interface else f"{interface}:{port}",
        # Its links are https, so a proxy is in front of it.
        "TRUSTED_PROXIES": (
            "127.0.0.1/32,::1/128"
            if interface in _LOOPBACK and config.get("WebApiProtocol") == "https"
            else ""
        ),
        "TIME_ZONE": config.get("TimeZone", ""),
        "CONFIRM_HOURS": confirm_hours(config),
        "UPSTREAM_SALT": secrets.get("feedletter.secret.salt", ""),
        "EMAIL_URL": email_url(secrets),
    }
    return {name: value for name, value in values.items() if value}


def site_url(config: Mapping[str, str]) -> str:
    host, port = config.get("WebApiHostName", ""), config.get("WebApiPort", "")
    return f"{config.get('WebApiProtocol', 'http')}://{host}{f':{port}' if port else ''}" if host else ""


def confirm_hours(config: Mapping[str, str]) -> str:
    hours = config.get("ConfirmHours", "")
    if not (hours.isascii() and hours.isdigit()):
        return ""
    return str(min(max(int(hours), 1), LONGEST_CONFIRMATION))


def email_url(secrets: Mapping[str, str]) -> str:
    """It logged in by TLS only; port 587 speaks STARTTLS."""
    mail = {name.removeprefix("mail.smtp."): value for name, value in secrets.items()}
    if not mail.get("host"):
        return ""
    has_login = bool(mail.get("user")) and mail.get("auth", "true").lower() != "false"
    if mail.get("starttls.enable", "").lower() in _SECURE or mail.get("port") == STARTTLS[1]:
        scheme, port = STARTTLS
    else:
        scheme, port = TLS if has_login or mail.get("port") == TLS[1] else PLAIN
    login = ""
    if has_login:
        login = f"{quote(mail['user'], safe='')}:{quote(mail.get('password', ''), safe='')}@"
    host = f"[{mail['host']}]" if ":" in mail["host"] else mail["host"]
    return f"{scheme}://{login}{host}:{mail.get('port') or port}"


def as_file(values: Mapping[str, str]) -> str:
    """Quote values as both systemd and shells read them."""
    return "".join(f"{name}={_quoted(value)}\n" for name, value in values.items())


def _quoted(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    return f"'{value}'" if "'" not in value else '"{}"'.format(_SHELL.sub(r"\\\1", value))


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
