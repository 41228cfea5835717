"""`list_channels`: where newsletters and bridges can send, and what each asks for."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.ports import channels
from delivery.management.channels import channel_row


class Command(FeedletterCommand):
    help = "Lists the channels, with the fields of a destination and the options that each knows."

    def run(self, **options: Any) -> Result:
        return (channel_row(kind) for kind in channels.all_kinds())
