from django.apps import AppConfig


class FediverseConfig(AppConfig):
    name = "fediverse"
    verbose_name = "The Fediverse"

    def ready(self) -> None:
        from common.ports import personal_data, ways
        from common.ports.panels import install_later
        from common.ports.registries import later
        from fediverse.models import Follower

        install_later("fediverse.panels")
        about_server = personal_data.by("server")
        rows = Follower.objects.values("handle", "uri", "since")
        personal_data.sources.append(personal_data.HeldRows("followers", rows, about_server))
        ways.sources.append(later("fediverse.ways", "fediverse_way"))
