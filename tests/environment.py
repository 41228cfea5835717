"""Environment of the tests, loaded before Django: a Discord application switches the bot on."""

import os

DISCORD = {
    "DISCORD_APPLICATION_ID": "500000000000000005",
    "DISCORD_PUBLIC_KEY": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
    "DISCORD_BOT_TOKEN": "MTA.bot-token.AbCdEf",
}
# `DISCORD_APPLICATION_ID= python -m pytest` runs the tests without the bot, READER=off those without readers.
if "DISCORD_APPLICATION_ID" not in os.environ:
    os.environ.update(DISCORD)


def switches() -> dict[str, str]:
    """Return the variables that switch apps on and off."""
    return {name: os.environ[name] for name in ("READER", *DISCORD) if name in os.environ}
