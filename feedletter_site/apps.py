import logging

from celery.signals import beat_init, worker_ready, worker_shutdown
from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate, post_save


class SiteConfig(AppConfig):
    name = "feedletter_site"
    verbose_name = "Site"

    def ready(self) -> None:
        from common.cli.registry import add_commands, add_resources
        from common.ports.channel_letters import channel_letters
        from common.ports.events import happened
        from common.ports.registries import count_writers, keepers, later, pass_listeners
        from feedletter_site import checks, hook_checks  # noqa: F401 - they register checks
        from feedletter_site.logs import MaskedRecord
        from feedletter_site.monitoring import vitals
        from feedletter_site.services import password_limits
        from feedletter_site.team import sessions
        from feedletter_site.ticks.schedule import after_migrate

        logging.setLogRecordFactory(MaskedRecord)
        keepers.append(later("feedletter_site.monitoring.figures", "kept"))
        password_limits.watch_sign_ins()
        sessions.watch_users()
        pass_listeners.append(vitals.VITALS.ran)
        count_writers.append(vitals.write_counts)
        channel_letters.append(later("feedletter_site.channel_letters", "ByNewsletter"))
        on_event, on_user = (
            later("feedletter_site.channel_letters", name) for name in ("on_event", "on_user")
        )
        happened.connect(on_event, weak=False, dispatch_uid="letters")
        post_save.connect(on_user, sender="auth.User", weak=False, dispatch_uid="letters")
        worker_ready.connect(vitals.begin_worker)
        beat_init.connect(vitals.begin_beat)
        worker_shutdown.connect(vitals.end_worker)
        # It needs django_celery_beat's tables, which may be created before ours.
        post_migrate.connect(after_migrate, sender=apps.get_app_config("django_celery_beat"))

        add_commands("feedletter_site.management", second_factor="remove_second_factor")
        add_resources("feedletter_site.resources")
