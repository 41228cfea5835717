import os

from django.apps import AppConfig

from demo import MARK


class DemoConfig(AppConfig):
    name = "demo"

    def ready(self) -> None:
        if os.environ.get(MARK):
            from demo.bridges import alerts
            from feedletter_site.monitoring.attention import more_alerts

            more_alerts.append(alerts)
