from chat.admin.guild import GuildAdmin, GuildFeedAdmin, ServerAlertAdmin

__all__ = ["GuildAdmin", "GuildFeedAdmin", "ServerAlertAdmin"]
