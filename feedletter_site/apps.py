from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class SiteConfig(AppConfig):
    name = "feedletter_site"
    verbose_name = "Site"

    def ready(self) -> None:
        from feedletter_site import checks, hook_checks  # noqa: F401 - registers the checks
        from feedletter_site.schedule import after_migrate

        # (The signal is sent for apps with models, which this one has none of.)
        post_migrate.connect(after_migrate, sender=apps.get_app_config("django_celery_beat"))
