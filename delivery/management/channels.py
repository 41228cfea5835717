"""What commands say about channels."""

from typing import Any

from common.ports import channels


def channel_row(kind: channels.ChannelSpec) -> dict[str, Any]:
    return {
        "channel": kind.key,
        "name": kind.label,
        "sign_up": kind.public_sign_up,
        "destination": [field.name for field in kind.destination_fields],
        "options": [field.name for field in kind.option_fields],
        "arrangements": sorted(kind.arrangements),
        "what": kind.sentence,
    }
