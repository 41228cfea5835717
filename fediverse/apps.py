from django.apps import AppConfig


class FediverseConfig(AppConfig):
    name = "fediverse"
    verbose_name = "The Fediverse"

    def ready(self) -> None:
        from common.ports import ways
        from common.ports.panels import install_later
        from common.ports.registries import later

        install_later("fediverse.panels")
        ways.sources.append(later("fediverse.ways", "fediverse_way"))
