"""CELERY_BROKER_URL. TLS verifies certificate and host name unless the URL disables that."""

import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

SCHEMES = {"", "redis", "rediss", "amqp", "amqps", "memory"}
CERTIFICATES = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
FILES = {"ssl_ca_certs": "ca_certs", "ssl_certfile": "certfile", "ssl_keyfile": "keyfile"}


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
