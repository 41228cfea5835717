"""iffy:hint-announce: a publisher's wish whether a post is announced (http://tech.interfluidity.com/xml/iffy/)."""

from collections.abc import Iterable
from dataclasses import dataclass

from common.text import one_line, shortened

# Within the namespace's URI, whatever its scheme and its last slash.
NAMESPACE = "tech.interfluidity.com/xml/iffy"
ALWAYS, NEVER, PIGGYBACK = "always", "never", "piggyback"
MAX_POLICY_SHOWN = 40
UNKNOWN = (
    "A post has the iffy:hint-announce policy “{}”, which is none of always, never and piggyback; it is sent"
    " as any other."
)


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint of a post. A restricted one is meant for some other place than ours."""

    policy: str
    restricted: bool = False


def announced(hints: Iterable[Hint]) -> tuple[str, str]:
    """The first unrestricted hint, as Entry.announce has it; and its policy if that is unknown."""
    hint = next((one for one in hints if not one.restricted and one.policy.strip()), None)
    policy = hint.policy.strip().lower() if hint else ALWAYS
    if policy in (NEVER, PIGGYBACK):
        return policy, ""
    return "", "" if policy == ALWAYS else shortened(one_line(policy), MAX_POLICY_SHOWN)


def unknown_policy(policies: Iterable[str]) -> list[str]:
    """A warning about the first of the unknown policies; nothing where none is unknown ("")."""
    unknown = next(filter(None, policies), "")
    return [UNKNOWN.format(unknown)] if unknown else []
