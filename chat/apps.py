from django.apps import AppConfig
from django.conf import settings


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Discord"

    @property
    def is_on(self) -> bool:
        return bool(settings.DISCORD_APPLICATION_ID)

    def ready(self) -> None:
        from django.core.checks import register

        from chat.checks import check_discord
        from chat.models import BotFeed
        from common.checks import OWN_CHECKS
        from common.ports.panels import install_later
        from common.ports.registries import told_to_others

        register(check_discord, OWN_CHECKS)
        if self.is_on:
            # Servers get notices in their log channels.
            told_to_others.append(lambda: BotFeed.objects.filter(is_operators=False).values("feed"))
            install_later("chat.panels")
