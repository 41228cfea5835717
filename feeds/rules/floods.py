"""Floods: more new posts at once than anybody writes. They are held until an admin has had a look."""

# A feed that was moved to another system, or one that makes up new ids, shows all it has as new.
MORE_THAN = 10
# Held posts that have left their feed meanwhile: the oldest of them go when there are more.
HELD_AT_MOST = 1_000

FLOOD = "came in a flood that was not to be sent"
LEFT_WHILE_HELD = "left the feed while it was held"
# Why an item is held, while it is: nothing for a flood.
RESTORED = "held because a backup was restored"
# Why such an item is excluded.
NOT_AFTER_RESTORE = "was held after a restore and not to be sent"


def is_flood(new: int, shown: int) -> bool:
    """Whether `new` of the `shown` posts of a document are too many: more than 10, and more than half."""
    return new > MORE_THAN and 2 * new > shown
