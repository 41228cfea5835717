"""Reader of docker-compose.yml: anchors, variables and environment as Docker Compose handles them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent
# ${NAME}, ${NAME:-default} and ${NAME:?error message}
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<text>[^}]*))?\}")


class Unset(Exception):
    """Required variable without a value."""


@dataclass(frozen=True)
class Service:
    """Service of ours: command, environment after substitution, and health check."""

    name: str
    command: list[str]
    environment: dict[str, str]
    after: frozenset[str]
    health: list[str]


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """Return the text with its variables filled in. Raises Unset."""

    def value(match: re.Match[str]) -> str:
        found = variables.get(match["name"], "")
        if match["kind"] == "?" and not found:
            raise Unset(f"{match['name']}: {match['text']}")
        return found or (match["text"] or "" if match["kind"] == "-" else "")

    return VARIABLE.sub(value, text)


def environment(entries: Mapping[str, str | None], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment. A name without a value is passed through if set, as in Compose."""
    given = {name: substitute(value, variables) for name, value in entries.items() if value is not None}
    return given | {name: variables[name] for name in entries if name not in given and name in variables}


def load(variables: Mapping[str, str]) -> dict[str, Service]:
    """Return the services that are built from this repository. Raises Unset."""
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return {
        name: Service(
            name,
            [substitute(part, variables) for part in service["command"]],
            environment(service["environment"], variables),
            frozenset(service.get("depends_on", ())),
            service.get("healthcheck", {}).get("test", [])[1:],
        )
        for name, service in document["services"].items()
        if "build" in service
    }
