from chat.models.alert import ServerAlert
from chat.models.guild import BotFeed, BotSettings, Guild, GuildFeed
from chat.models.interaction import Interaction

__all__ = ["BotFeed", "BotSettings", "Guild", "GuildFeed", "Interaction", "ServerAlert"]
