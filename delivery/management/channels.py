"""What commands say about channels and bridges."""

from typing import Any

from common.ports import channels
from delivery.models import Delivery, RemotePost


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


def post_row(delivery: Delivery) -> dict[str, Any]:
    """Needs the destination selected."""
    remote = RemotePost.objects.filter(delivery=delivery).first()
    return {
        "id": delivery.pk,
        "destination": delivery.destination.label,
        "url": remote.url if remote else "",
        "remote_id": delivery.remote_id,
    }
