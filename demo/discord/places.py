from collections.abc import Mapping

DISCORD = "discord"
API = "/api/v10"
GUILD, GUILD_NAME = "1000000000000000009", "The harbour"
CHANNEL = "1000000000000000002"
# Channels by id; the webhook posts to the first.
CHANNELS: Mapping[str, str] = {
    CHANNEL: "harbour-notes",
    "1000000000000000003": "news",
    "1000000000000000004": "bot-log",
}
ADA, ADA_NAME = "1000000000000000042", "Ada"
ROLES: Mapping[str, str] = {"1000000000000000051": "Early risers", "1000000000000000052": "Ferry crew"}
BOT_NAME = "Feedletter"
