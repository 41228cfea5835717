from django.apps import AppConfig


class FediverseConfig(AppConfig):
    name = "fediverse"
    verbose_name = "The Fediverse"

    def ready(self) -> None:
        from common.ports.panels import install_later

        install_later("fediverse.panels")
