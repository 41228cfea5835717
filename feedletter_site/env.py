"""Reads settings from the environment, with errors that name the variable and what was expected.

Every value may also come from a file: `NAME_FILE=/run/secrets/name` (Docker and systemd secrets).
"""

import ipaddress
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# ASCII (an IDN as xn--…), and short enough for what stands before it in an address.
_DOMAIN = re.compile(r"(?=.{1,180}$)([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9-]{1,63}")

TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}


def wrong(name: str, expected: str) -> ImproperlyConfigured:
    """The error for a value we cannot use. The value itself stays out of it: it may be a secret."""
    return ImproperlyConfigured(f"{name} is wrong: expected {expected}.")


def text(name: str, default: str = "") -> str:
    """The variable, or the content of the file that NAME_FILE names, or the default."""
    if name in os.environ:
        return os.environ[name].strip()
    path = os.environ.get(f"{name}_FILE")
    if not path:
        return default
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise wrong(f"{name}_FILE", f"a readable file ({error.strerror})") from error


def flag(name: str, default: bool = False) -> bool:
    value = text(name, "1" if default else "0").lower()
    if value not in TRUE | FALSE:
        raise wrong(name, "1, 0, true, false, yes, no, on or off")
    return value in TRUE


def listing(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in text(name, default).split(",") if part.strip()]


def one_of(name: str, default: str, choices: set[str]) -> str:
    value = text(name, default)
    if value not in choices:
        raise wrong(name, " or ".join(sorted(choices)))
    return value


def checked(name: str, default: str, expected: str, check: Callable[[str], Any]) -> str:
    """The value, after `check` took it without ValueError, KeyError or OSError."""
    value = text(name, default)
    try:
        check(value)
    except (ValueError, KeyError, OSError) as error:
        raise wrong(name, expected) from error
    return value


def domain(value: str) -> None:
    """Raises ValueError for what is neither empty nor a domain's name."""
    if value and not _DOMAIN.fullmatch(value):
        raise ValueError


def pair(value: str) -> None:
    """Raises ValueError for what is neither empty nor name:password."""
    if value and not re.fullmatch(r"[^\s:]+:[^\s:]\S*", value):
        raise ValueError


def name_servers(name: str) -> list[tuple[str, int]]:
    try:
        return [name_server(part) for part in listing(name)]
    except ValueError as error:
        raise wrong(name, "addresses such as 9.9.9.9 or 127.0.0.1:5353, separated by commas") from error


def name_server(value: str) -> tuple[str, int]:
    """Address and port of 9.9.9.9, 127.0.0.1:5353, ::1 or [::1]:5353. Raises ValueError."""
    host, port = value, "53"
    if value.startswith("["):
        host, _, rest = value[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif value.count(":") == 1:
        host, _, port = value.partition(":")
    if not 0 < int(port) < 65536:
        raise ValueError(value)
    return str(ipaddress.ip_address(host)), int(port)


def networks(name: str) -> list[Network]:
    try:
        return [ipaddress.ip_network(part, strict=False) for part in listing(name)]
    except ValueError as error:
        raise wrong(name, "networks such as 10.0.0.0/8, separated by commas") from error


def site_url(name: str, default: str) -> str:
    value = text(name, default).rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
        raise wrong(name, "an address such as https://letters.example.org")
    return value


def bind(name: str, default: str) -> tuple[str, int]:
    host, _, port = text(name, default).rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise wrong(name, "host:port, such as 127.0.0.1:8000")
    return host, int(port)


SQLITE_OPTIONS = {
    # DEFERRED fails at once on lock upgrade whatever the timeout; IMMEDIATE waits its turn.
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=134217728;",
}


def database(name: str, default: str, base: Path) -> dict[str, Any]:
    """Django's DATABASES entry from sqlite:///path or postgres://user:password@host:port/name.

    After a question mark: sslmode and sslrootcert, as libpq has them, and prepare=off.
    """
    parts = urlsplit(text(name, default))
    if parts.scheme == "sqlite" and parts.path.strip("/"):
        path = base / parts.path[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(path),
            "OPTIONS": dict(SQLITE_OPTIONS),
            "CONN_MAX_AGE": 60,
        }
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    is_postgres = parts.scheme in {"postgres", "postgresql"} and parts.path.strip("/")
    if not is_postgres or not options.keys() <= {"sslmode", "sslrootcert", "prepare"}:
        raise wrong(name, "sqlite:///path or postgres://user:password@host:5432/name")
    # A pooler that hands a connection on after each transaction knows no prepared statements.
    prepare_threshold = None if options.pop("prepare", "") == "off" else 0
    return {
        "ENGINE": "common.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**options, "prepare_threshold": prepare_threshold},
    }


def positive(value: str) -> int:
    """A whole number from 1 to 1,000. Raises ValueError."""
    number = int(value)
    if not 1 <= number <= 1000:
        raise ValueError(value)
    return number


def days(value: str) -> int:
    """A whole number from 1 to 36,500. Raises ValueError."""
    number = int(value)
    if not 1 <= number <= 36500:
        raise ValueError(value)
    return number


def seconds(value: str) -> float:
    """From 0 to 3,600. Raises ValueError."""
    number = float(value)
    if not 0 <= number <= 3600:
        raise ValueError(value)
    return number
