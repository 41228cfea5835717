from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.models import GuildFeed
from common.patterns import MATCHES
from common.refused import Refused
from subscriptions.collections.post_rules import change_rules
from subscriptions.models import PostRule
from subscriptions.rules.post_rules import (
    LONGEST_WORD,
    MOST_WORDS,
    InvalidWords,
    read_words,
    word_of,
    word_pattern,
)

ACTIONS = {"keep": PostRule.Action.KEEP, "drop": PostRule.Action.DROP}


def words_of(one: GuildFeed) -> dict[str, list[str]]:
    rules = list(one.subscribable.post_rules.order_by("position", "pk"))
    return {
        name: [word_of(rule.pattern) for rule in rules if rule.action == action]
        for name, action in ACTIONS.items()
    }


def set_words(one: GuildFeed, *, keep: str, drop: str) -> dict[str, list[str]]:
    """Empty means no filter. Raises Refused."""
    try:
        wanted = {"keep": read_words(keep), "drop": read_words(drop)}
    except InvalidWords as error:
        raise Refused(_reason(error.reason)) from error
    if sum(map(len, wanted.values())) > MOST_WORDS:
        raise Refused(_reason("many"))
    tests = [(ACTIONS[name], word_pattern(word)) for name, words in wanted.items() for word in words]
    rows = [
        PostRule(subscribable=one.subscribable, position=place, action=action, test=MATCHES, pattern=pattern)
        for place, (action, pattern) in enumerate(tests)
    ]
    try:
        change_rules(subscribable=one.subscribable, saved=rows, gone=list(one.subscribable.post_rules.all()))
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error
    return wanted


def _reason(reason: str) -> str:
    match reason:
        case "many":
            said = ngettext(
                "A filter can have at most %(count)s word.",
                "A filter can have at most %(count)s words.",
                MOST_WORDS,
            )
            return said % {"count": MOST_WORDS}
        case "long":
            said = ngettext(
                "A word of a filter can have at most %(count)s character.",
                "A word of a filter can have at most %(count)s characters.",
                LONGEST_WORD,
            )
            return said % {"count": LONGEST_WORD}
        case "quote":
            return _("Missing quotation mark. Put one on each side.")
    return _("A star alone matches every word. Put characters before it, such as photo*.")
