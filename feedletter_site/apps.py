from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class SiteConfig(AppConfig):
    name = "feedletter_site"
    verbose_name = "Site"

    def ready(self) -> None:
        from feedletter_site import checks, hook_checks  # noqa: F401 - registers the checks
        from feedletter_site.schedule import after_migrate

        # (It needs the tables of django_celery_beat, which are there when this app's may not be yet.)
        post_migrate.connect(after_migrate, sender=apps.get_app_config("django_celery_beat"))
