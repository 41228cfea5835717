"""What newsletters, ads and analytics add to an address: it says who clicked, not what is there."""

import re
from functools import lru_cache

# A star stands for any ending.
PARAMETERS = (
    "utm_*",
    "mtm_*",
    "pk_campaign",
    "pk_kwd",
    "pk_source",
    "pk_medium",
    "fbclid",
    "gclid",
    "gclsrc",
    "gbraid",
    "wbraid",
    "dclid",
    "msclkid",
    "yclid",
    "twclid",
    "ttclid",
    "li_fat_id",
    "igshid",
    "igsh",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
    "vero_id",
    "oly_anon_id",
    "oly_enc_id",
    "ml_subscriber",
    "ml_subscriber_hash",
    "wickedid",
    "_openstat",
    "s_cid",
    "ns_campaign",
    "ns_mchannel",
    "ns_source",
    "ns_linkname",
    "srsltid",
)

MAX_REMEMBERED = 500

# An ampersand, however html writes it.
_AND = r"&(?:amp;|#0*38;|#x0*26;)?"
_NAMES = "|".join(re.escape(name).replace(r"\*", r"[\w.-]*") for name in PARAMETERS)
_TRACKED = re.compile(rf"(\A\?|{_AND})(?:(?:{_NAMES})=[^&#]*(?:{_AND}|(?!&)))+", re.IGNORECASE)
_ENDS_IN_AND = re.compile(rf"{_AND}\Z", re.IGNORECASE)
# From the question mark to the end of the address. (To look for a single character first is fast.)
_QUERY = re.compile(r"\?[^\s\"'<>]+")


def untracked(text: str) -> str:
    """An address, or a text with addresses in it (html, too), without the parameters that only track."""
    return _QUERY.sub(_without, text) if "?" in text else text


def _without(query: re.Match[str]) -> str:
    text = query.group()
    if "=" not in text:
        return text
    return _remembered(text) if len(text) <= MAX_REMEMBERED else _cleared(text)


def _cleared(query: str) -> str:
    return _TRACKED.sub(_kept, query)


# A feed says the same in most of its links.
_remembered = lru_cache(maxsize=1_000)(_cleared)


def _kept(match: re.Match[str]) -> str:
    return match.group(1) if _ENDS_IN_AND.search(match.group()) else ""
