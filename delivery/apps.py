from django.apps import AppConfig
from django.core.checks import register


class DeliveryConfig(AppConfig):
    name = "delivery"
    verbose_name = "Delivery"

    def ready(self) -> None:
        from anymail.signals import tracking

        from channels import register_all
        from common.checks import OWN_CHECKS
        from common.cli.registry import add_commands, add_resources
        from common.db import lookups
        from common.ports import registries, ways
        from common.ports.events import happened
        from common.ports.hooks import site_mails
        from common.ports.panels import install_later
        from common.ports.personal_data import sources
        from common.ports.registries import counters, later
        from delivery.bounces import list_growth
        from delivery.checks import check_email
        from delivery.privacy.personal_data import SOURCES, needed
        from delivery.rules.progress import ISSUE_FIGURE

        lookups.register()
        register_all()
        register(check_email, OWN_CHECKS)
        on_tracking = later("delivery.bounces.record", "on_tracking")
        tracking.connect(on_tracking, weak=False, dispatch_uid="delivery")
        enqueue = later("delivery.webhooks.outbox", "enqueue")
        happened.connect(enqueue, weak=False, dispatch_uid="webhooks")
        install_later("delivery.panels")
        counters[list_growth.GROWTH] = list_growth.count_growth
        counters[ISSUE_FIGURE] = later("delivery.issues.progress", "count_large_issues")
        sources.extend(SOURCES)
        registries.brand_sources.append(later("delivery.views.preview", "brands"))
        registries.latest_sources.append(later("delivery.views.issues", "latest_of"))
        for name in ("rss_way", "bridge_ways"):
            ways.sources.append(later("delivery.views.ways", name))
        registries.newsletter_checks.extend(
            (
                later("delivery.customisation", "refuse_wrong_template"),
                later("delivery.customisation", "refuse_wrong_sender"),
                later("delivery.bridges.corrections", "refuse_changed_digests"),
            )
        )
        registries.needed_destinations.append(needed)
        site_mails.append(later("delivery.letters.build", "SiteMailByLane"))

        add_commands(
            "delivery.management",
            issues="import_issues",
            bounces="handle_bounce lmtp read_bounces",
            letters=(
                "write_letter alter_letter preview_letter "
                "list_templates show_template set_template reset_template set_theme"
            ),
            accounts="add_account list_lanes alter_lane",
            newsletters="list_channels check_destination post_test send_test_email",
            stages="complete send run_once prune after_restore",
        )
        add_resources(
            "delivery.resources.accounts",
            "delivery.resources.deliveries",
            "delivery.resources.issues",
            "delivery.resources.letters",
            "delivery.resources.issues",
            "delivery.resources.webhooks",
        )
