"""iffy:hint-announce (http://tech.interfluidity.com/xml/iffy/)."""

from collections.abc import Iterable
from dataclasses import dataclass

from common.text import one_line, shortened

# Without scheme and last slash.
NAMESPACE = "tech.interfluidity.com/xml/iffy"
ALWAYS, NEVER, PIGGYBACK = "always", "never", "piggyback"
MAX_POLICY_SHOWN = 40
UNKNOWN = (
    "A post has the iffy:hint-announce policy “{}”, which is none of always, never and piggyback; it is sent"
    " as any other."
)


@dataclass(frozen=True, slots=True)
class Hint:
    """Restricted hints are for other readers."""

    policy: str
    restricted: bool = False


def announced(hints: Iterable[Hint]) -> tuple[str, str]:
    """Return Entry.announce, and the policy if unknown."""
    hint = next((one for one in hints if not one.restricted and one.policy.strip()), None)
    policy = hint.policy.strip().lower() if hint else ALWAYS
    if policy in (NEVER, PIGGYBACK):
        return policy, ""
    return "", "" if policy == ALWAYS else shortened(one_line(policy), MAX_POLICY_SHOWN)


def unknown_policy(policies: Iterable[str]) -> list[str]:
    unknown = next(filter(None, policies), "")
    return [UNKNOWN.format(unknown)] if unknown else []
