from chat.admin.alert import ServerAlertAdmin
from chat.admin.guild import GuildAdmin
from chat.admin.guild_feed import GuildFeedAdmin

__all__ = ["GuildAdmin", "GuildFeedAdmin", "ServerAlertAdmin"]
