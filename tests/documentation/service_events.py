"""docs/reference/mail-services.md, from the tables of services and events."""

from collections.abc import Iterator

from channels.email.esp.services import SERVICES, MailService
from delivery.bounces.service_verdicts import VERDICTS, Verdict
from delivery.rules.bounce_policy import BounceKind
from tests.documentation.tables import table

STAR = r"\*"
SERVICES_HEAD = """# Mail services

[How to use them](../sending.md#through-a-mail-service). Parameters follow `?`, separated by `&`.
All take `api_url` and `webhook_key`.
"""
HEAD = """## Events

Each service has its own names for what happened to an email, which it reports by
[webhook](../sending.md#webhooks). This page, written by `make reference`, lists them by
their effect:

| effect | |
|---|---|
| hard | the address is added to the *Do not email* list at once |
| soft | [counted](../sending.md#bounces): several have the same effect |
| policy | recorded only: it's about us or the email |
| complaint | the subscription ends, and the address is added to the list |
| delayed, unknown | recorded only |
| ignored | nothing happens |
| unsubscribe | that one subscription ends |

Reasons or types of events follow a colon. With a star (\\*), clear words of the mail server decide:
a “hard bounce” with “mailbox full” is *soft*. Complaints of other types than `abuse`, `fraud` and `opt-out`
end nothing. Events that aren't listed never count as *hard*, and are logged.
"""
_WORDS = {
    BounceKind.HARD: "hard",
    BounceKind.SOFT: "soft",
    BounceKind.POLICY: "policy",
    BounceKind.COMPLAINT: "complaint",
    BounceKind.DELAYED: "delayed",
    BounceKind.UNKNOWN: "unknown",
    BounceKind.AUTO_REPLY: "ignored",
}
_ORDER = (*_WORDS.values(), "unsubscribe")


def page() -> str:
    parts = [
        SERVICES_HEAD,
        *table(
            ("service", "`EMAIL_URL`", "parameters", "opens and clicks", "emails in a request"), services()
        ),
        HEAD,
    ]
    for service, verdicts in sorted(VERDICTS.items()):
        # Reasons of each event, by effect.
        rows: dict[str, dict[str, list[str]]] = {}
        for key, verdict in verdicts.items():
            event, _, reason = key.partition("/")
            star = STAR if verdict.by_words else ""
            rows.setdefault(_effect(verdict), {}).setdefault(event, []).append(f"{reason}{star}")
        lines = [f"| {effect} | {_names(rows[effect])} |" for effect in _ORDER if effect in rows]
        parts.append("\n".join([f"### {service}\n", "| effect | events |", "|---|---|", *lines, ""]))
    return "\n".join(parts)


def services() -> Iterator[tuple[str, ...]]:
    for key, service in sorted(SERVICES.items(), key=lambda each: each[1].name.lower()):
        tracking = "not tracked" if service.untracked else "switch it off there"
        secret = ":SECRET" if service.secret else ""
        url = f"`anymail+{key}://KEY{secret}@example.org`"
        yield service.name, url, _parameters(service), tracking, str(service.batch)


def _parameters(service: MailService) -> str:
    regions = ", ".join(service.regions)
    own = {**dict.fromkeys(service.options, ""), **({"region": f" ({regions})"} if regions else {})}
    own |= {name: own.get(name, "") for name in service.required}
    return ", ".join(
        f"`{name}`{' (required)' if name in service.required else more}" for name, more in own.items()
    )


def _effect(verdict: Verdict) -> str:
    if verdict.leaves:
        return "unsubscribe"
    return _WORDS[verdict.kind] if verdict.kind else "ignored"


def _names(events: dict[str, list[str]]) -> str:
    # Events without a reason, then each set of events with the reasons that they share.
    bare: list[str] = []
    by_reason: dict[str, list[str]] = {}
    for event, reasons in events.items():
        for reason in reasons:
            if reason in ("", STAR):
                bare.append(f"`{event}`{reason}")
            else:
                by_reason.setdefault(reason, []).append(f"`{event}`")
    shared: dict[str, list[str]] = {}
    for reason, names in by_reason.items():
        shared.setdefault(", ".join(names), []).append(reason)
    parts = [", ".join(bare)] if bare else []
    return "; ".join([*parts, *(f"{names}: {', '.join(reasons)}" for names, reasons in shared.items())])
