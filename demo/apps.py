import os

from django.apps import AppConfig

from demo import MARK


class DemoConfig(AppConfig):
    name = "demo"

    def ready(self) -> None:
        if os.environ.get(MARK):
            from common.ports.registries import alert_sources
            from demo.bridges import alerts

            alert_sources.append(alerts)
