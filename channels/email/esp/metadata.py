"""What goes along with a letter through a mail service, and comes back in what its webhooks tell."""

from collections.abc import Mapping

from common.signing import is_stamp, stamp

# Postmark takes 20 characters of a name and 80 of a value; this has 49 at most.
METADATA_NAME = "feedletter"
METADATA_PURPOSE = "esp"


def metadata(delivery_id: int) -> dict[str, str]:
    """What names that delivery, and proves that we sent it."""
    text = f"{delivery_id:x}"
    return {METADATA_NAME: f"{text}-{stamp(METADATA_PURPOSE, text)}"}


def delivery_of(told: Mapping[str, object]) -> int | None:
    """The delivery that such metadata names; None unless we made it."""
    text, _, given = str(told.get(METADATA_NAME, ""))[:100].partition("-")
    try:
        number = int(text, 16)
    except ValueError:
        return None
    return number if 0 < number < 2**63 and is_stamp(METADATA_PURPOSE, f"{number:x}", given) else None
