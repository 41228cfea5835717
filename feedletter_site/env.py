"""CELERY_BROKER_URL. TLS verifies certificate and host name unless the URL disables that."""

import ipaddress
import os
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured

SCHEMES = {"", "redis", "rediss", "amqp", "amqps", "memory"}
CERTIFICATES = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
FILES = {"ssl_ca_certs": "ca_certs", "ssl_certfile": "certfile", "ssl_keyfile": "keyfile"}
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# Text and origin, for `show_settings`.
read: dict[str, tuple[str, str]] = {}
TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}
# Django answers 400 to other hosts.
_NAME = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Any host (*), a name, one with subdomains (.example.org), or an IPv6 address in brackets.
_HOST = re.compile(r"\*|\.?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\]")
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - compared with, not bound to
SQLITE_OPTIONS = {
    # DEFERRED fails at once on lock upgrades; IMMEDIATE waits up to the timeout.
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=134217728;",
}
# Detect a vanished server within 30 seconds. In seconds, except the last (milliseconds).
POSTGRES_NETWORK = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
# Server-side limits in milliseconds, 0 for none. The second frees the locks of a frozen process well before
# its leases end.
POSTGRES_BOUNDS = {
    "statement_timeout": 300_000,
    "idle_in_transaction_session_timeout": 20_000,
    "lock_timeout": 0,
}
TIMEOUTS = POSTGRES_NETWORK | POSTGRES_BOUNDS
DATABASE = "sqlite:///path or postgres://user:password@host:5432/name"
MOST_MILLISECONDS = 2_147_483_647
_PLACES = re.compile(r"((?:[^/?#:]*://(?:[^/?#]*@)?)?)([^/?#@]*)(.*)", re.DOTALL)
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


class Setting(NamedTuple):
    """Row of docs/reference/settings.md, in Markdown."""

    default: str
    expected: str
    help: str


# By section, and by name.
declared: dict[str, dict[str, Setting]] = {}


def section(title: str) -> None:
    declared[title] = {}


def wrong(name: str, expected: str) -> ImproperlyConfigured:
    """Omits the value, which may be secret."""
    return ImproperlyConfigured(f"{name} is wrong: expected {expected}.")


def text(name: str, default: str = "", *, help: str = "", usual: str = "", expected: str = "text") -> str:
    """Return the variable, or the content of the file named by NAME_FILE, or the default.

    NAME_FILE wins over an empty variable, because docker compose cannot unset variables. Byte order marks
    from Windows editors are removed. `usual` describes a default that depends on something.
    """
    if help:
        words = usual or (f"`{default}`" if default else "empty")
        declared[next(reversed(declared))][name] = Setting(words, expected, help)
    path = os.environ.get(f"{name}_FILE")
    value, origin = default, "default"
    if os.environ.get(name) or (name in os.environ and not path):
        value, origin = os.environ[name].strip(), "environment"
    elif path:
        try:
            value, origin = Path(path).read_text(encoding="utf-8-sig").strip(), f"{name}_FILE"
        except OSError as error:
            raise wrong(f"{name}_FILE", f"a readable file ({error.strerror})") from None
        except ValueError:
            raise wrong(f"{name}_FILE", "a file of UTF-8 text") from None
    read[name] = value, origin
    return value


def flag(name: str, default: bool = False, **about: str) -> bool:
    expected = "1, 0, true, false, yes, no, on or off"
    value = text(name, "1" if default else "0", expected=expected, **about).lower()
    if value not in TRUE | FALSE:
        raise wrong(name, expected)
    return value in TRUE


def listing(name: str, default: str = "", **about: str) -> list[str]:
    return [part.strip() for part in text(name, default, **about).split(",") if part.strip()]


def one_of(name: str, default: str, choices: set[str], **about: str) -> str:
    expected = " or ".join(sorted(choices))
    value = text(name, default, expected=expected, **about)
    if value not in choices:
        raise wrong(name, expected)
    return value


def checked(name: str, default: str, expected: str, check: Callable[[str], Any], **about: str) -> str:
    """Reject a value for which `check` raises ValueError, KeyError or OSError."""
    value = text(name, default, expected=expected, **about)
    try:
        check(value)
    except (ValueError, KeyError, OSError):
        # `from None`, here and below: such errors contain parts of the value.
        raise wrong(name, expected) from None
    return value


def whole(name: str, default: int, *, least: int = 1, most: int = 1000, **about: str) -> int:
    expected = f"a whole number from {least} to {most}"
    value = text(name, str(default), expected=expected, **about)
    try:
        number = int(value)
    except ValueError:
        raise wrong(name, expected) from None
    if not least <= number <= most:
        raise wrong(name, expected)
    return number


def _matching(pattern: str) -> Callable[[str], None]:
    """Return a check of values that aren't empty."""

    def check(value: str) -> None:
        if value and not re.fullmatch(pattern, value):
            raise ValueError

    return check


snowflake = _matching("[0-9]{5,19}")
hex_key = _matching("[0-9a-fA-F]{64}")
# ASCII (an IDN as xn--…), with room for the local part of an address.
domain = _matching(r"(?=.{1,180}$)([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9-]{1,63}")
pair = _matching(r"[^\s:]+:[^\s:]\S*")


def name_servers(name: str, **about: str) -> list[tuple[str, int]]:
    expected = "addresses such as 9.9.9.9 or 127.0.0.1:5353, separated by commas"
    try:
        return [name_server(part) for part in listing(name, expected=expected, **about)]
    except ValueError:
        raise wrong(name, expected) from None


def name_server(value: str) -> tuple[str, int]:
    """Parse 9.9.9.9, 127.0.0.1:5353, ::1 or [::1]:5353. Raises ValueError."""
    host, port = value, "53"
    if value.startswith("["):
        host, _, rest = value[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif value.count(":") == 1:
        host, _, port = value.partition(":")
    if not 0 < int(port) < 65536:
        raise ValueError(value)
    return str(ipaddress.ip_address(host)), int(port)


def networks(name: str, **about: str) -> list[Network]:
    expected = "networks such as 10.0.0.0/8, separated by commas"
    try:
        parts = listing(name, expected=expected, **about)
        return [ipaddress.ip_network(part, strict=False) for part in parts]
    except ValueError:
        raise wrong(name, expected) from None


def site_url(name: str, default: str, **about: str) -> str:
    """Return a normalized address without a path.

    Scheme and host in lower case, international names in ASCII (xn--…), no default port.
    """
    expected = "an address such as https://letters.example.org, without a path, user and spaces"
    value = text(name, default, expected=expected, **about).rstrip("/")
    try:
        parts = urlsplit(value)
        if not _is_web_address(value) or parts.path:
            raise ValueError
        host = host_name(parts.hostname or "")
    except ValueError:
        raise wrong(name, expected) from None
    implied = parts.port is None or parts.port == {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if implied else f":{parts.port}")


def host_name(value: str) -> str:
    """Return a host as browsers send it: xn--… or IPv6 in brackets. Raises ValueError."""
    if ":" in value:
        return f"[{ipaddress.IPv6Address(value.strip('[]'))}]"
    if not value.isascii():
        import idna  # large tables

        value = idna.encode(value, uts46=True).decode("ascii")
    host = value.lower().removesuffix(".")
    if not _NAME.fullmatch(host):
        raise ValueError
    return host


def service_url(name: str, default: str, **about: str) -> str:
    expected = f"an address such as {default}"
    value = (text(name, default, expected=expected, **about) or default).rstrip("/")
    if not _is_web_address(value):
        raise wrong(name, expected)
    return value


def _is_web_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        has_host = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return has_host and value.isprintable() and not set(value) & set(" \\?#@")


def web_address(value: str) -> None:
    if value and not _is_web_address(value):
        raise ValueError


def hosts(name: str, **about: str) -> list[str]:
    """Return international names in ASCII."""
    expected = "names of hosts such as letters.example.org, separated by commas, without https://"
    listed = listing(name, expected=expected, **about)
    try:
        values = [value if value.isascii() else _ascii_host(value) for value in listed]
    except ValueError:
        values = [""]
    if not all(_HOST.fullmatch(value) for value in values):
        raise wrong(name, expected)
    return values


def _ascii_host(value: str) -> str:
    return "." * value.startswith(".") + host_name(value.removeprefix("."))


def said(name: str, default: str, check: Callable[[str], Any], **about: str) -> str:
    """`check` raises complete sentences."""
    value = text(name, default, **about)
    check(value)
    return value


def bind(name: str, default: str, **about: str) -> tuple[str, int]:
    expected = "host:port, such as 127.0.0.1:8000, or with IPv6 [::1]:8000"
    host, _, port = text(name, default, expected=expected, **about).rpartition(":")
    try:
        if host[:1] == "[" or ":" in host:
            host = host_name(host) if host[-1] == "]" else ""
        if not host or not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 65536:
            raise ValueError
    except ValueError:
        raise wrong(name, expected) from None
    return host, int(port)


def url_of(place: tuple[str, int]) -> str:
    """Return the address at which this machine reaches what listens there."""
    host, port = place
    return f"http://{EVERYWHERE.get(host, host)}:{port}"


def database(name: str, default: str, base: Path, **about: str) -> dict[str, Any]:
    """Return Django's DATABASES entry. Parameters: libpq's, TIMEOUTS, and prepare=off."""
    value = text(name, default, expected=DATABASE, **about)
    try:
        # libpq accepts several hosts, urlsplit one.
        before, hosts, after = _PLACES.fullmatch(value).groups()  # type: ignore[union-attr]
        first, *_ = hosts.split(",")
        parts = urlsplit(f"{before}{first}{after}")
        places = [urlsplit(f"//{place}") for place in hosts.split(",")]
        ports = [str(place.port or "") for place in places]
    except ValueError:
        raise wrong(name, f"{DATABASE}; in a password write / as %2F, @ as %40 and # as %23") from None
    if parts.scheme == "sqlite" and parts.path.strip("/"):
        path = base / parts.path[1:]
        make_folder(name, path.parent)
        with suppress(OSError):
            # SQLite would let everybody read it. Its other files get the same mode.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(path),
            "OPTIONS": dict(SQLITE_OPTIONS),
            "CONN_MAX_AGE": 60,
        }
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise wrong(name, DATABASE)
    refuse_unknown(name, options)
    # Transaction poolers do not support prepared statements, and refuse limits at connection time.
    has_pooler = options.pop("prepare", "") == "off"
    given = timeouts(name, options)
    network = POSTGRES_NETWORK | {key: given[key] for key in given.keys() & POSTGRES_NETWORK.keys()}
    bounds = {} if has_pooler else POSTGRES_BOUNDS
    bounds = bounds | {key: given[key] for key in given.keys() & POSTGRES_BOUNDS.keys()}
    # The operator's options come last and win.
    sent = [*(f"-c {key}={value}" for key, value in bounds.items()), options.pop("options", "")]
    if any(sent):
        options["options"] = " ".join(filter(None, sent))
    return {
        "ENGINE": "common.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or "") or options.pop("user", ""),
        "PASSWORD": unquote(parts.password or "") or options.pop("password", ""),
        "HOST": ",".join(unquote(place.hostname or "") for place in places) or options.pop("host", ""),
        "PORT": (",".join(ports) if any(ports) else "") or options.pop("port", ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**options, **network, "prepare_threshold": None if has_pooler else 0},
        # Server-side cursors do not survive a change of connection.
        "DISABLE_SERVER_SIDE_CURSORS": has_pooler,
    }


def refuse_unknown(name: str, options: Mapping[str, str]) -> None:
    from psycopg.pq import Conninfo  # for PostgreSQL only

    known = {option.keyword.decode() for option in Conninfo.get_defaults()} | TIMEOUTS.keys() | {"prepare"}
    # The encoding is always UTF-8, and the path names the database.
    for key in options.keys() - (known - {"client_encoding", "dbname", "replication"}):
        # It may be part of a password with a question mark.
        shown = f"“{key}”" if re.fullmatch("[a-zA-Z_]{1,40}", key) and options[key] else "what is there"
        raise wrong(name, f"parameters of libpq after the ?, such as sslmode=require, and not {shown}")
    # libpq checks it only when connecting.
    if (mode := options.get("sslmode", SSL_MODES[0])) not in SSL_MODES:
        raise wrong(name, f"sslmode as one of {', '.join(SSL_MODES)}, and not “{mode[:40]}”")


def make_folder(name: str, folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise wrong(name, f"a folder that can be made ({error.strerror})") from None


def timeouts(name: str, options: dict[str, str]) -> dict[str, int]:
    values = {key: options.pop(key) for key in list(options) if key in TIMEOUTS}
    for key, value in values.items():
        if not value.isdecimal() or not value.isascii() or int(value) > MOST_MILLISECONDS:
            raise wrong(name, f"{key} as a whole number, 0 for none")
    return {key: int(value) for key, value in values.items()}


def seconds(value: str) -> float:
    number = float(value)
    if not 0 <= number <= 3600:
        raise ValueError(value)
    return number


def parse_broker_url(value: str) -> tuple[str, dict[str, Any] | None]:
    """Return Celery's URL and TLS options. Raises ValueError.

    Parameters: ssl_cert_reqs (required, optional or none), ssl_check_hostname, ssl_ca_certs, ssl_certfile and
    ssl_keyfile.
    """
    parts = urlsplit(value)
    if parts.scheme not in SCHEMES or (value and not parts.scheme) or parts.port == 0:
        raise ValueError
    if parts.scheme not in {"rediss", "amqps"}:
        return value, None
    query = dict(parse_qsl(parts.query))
    # redis-py does not accept CERT_REQUIRED. Without a value, kombu would verify nothing.
    wanted = query.get("ssl_cert_reqs", "required").lower().removeprefix("cert_")
    certificates = CERTIFICATES[wanted]
    if parts.scheme == "rediss":
        query["ssl_cert_reqs"] = wanted
        return parts._replace(query=urlencode(query)).geturl(), None
    options = {known: query.pop(name) for name, known in FILES.items() if name in query}
    return _amqps(parts, query, {"cert_reqs": certificates, **options})


def _amqps(parts: Any, query: Mapping[str, str], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """AMQP compares the host name only if the option is present; None means the URL's."""
    checks_name = query.get("ssl_check_hostname", "true").lower() != "false"
    if checks_name and options["cert_reqs"] != ssl.CERT_NONE:
        # kombu replaces localhost by 127.0.0.1 first.
        options["server_hostname"] = "localhost" if parts.hostname == "localhost" else None
    rest = {name: text for name, text in query.items() if not name.startswith("ssl_")}
    return parts._replace(query=urlencode(rest)).geturl(), options
