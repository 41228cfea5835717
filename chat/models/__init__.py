from chat.models.guild import BotFeed, BotSettings, Guild, GuildFeed, ServerAlert
from chat.models.interaction import Interaction
