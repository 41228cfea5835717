from django.conf import settings
from django.db import migrations


def keep_senders(apps, schema_editor):
    """From now on a newsletter without a sender has its title as name: existing ones keep theirs."""
    accounts = {row.name: row for row in apps.get_model('delivery', 'Account').objects.all()}
    usual = None if 'DEFAULT_FROM_EMAIL' in settings.GIVEN else next(
        (row for row in accounts.values() if row.is_default), None
    )
    newsletters = apps.get_model('subscriptions', 'Subscribable').objects
    for row in newsletters.filter(channel='email', from_email=''):
        account = accounts.get(row.options.get('account', ''), usual)
        row.from_email = (account.sender if account else '') or settings.DEFAULT_FROM_EMAIL
        row.save(update_fields=['from_email'])


class Migration(migrations.Migration):

    dependencies = [
        ('delivery', '0002_with_private_beside_0_1_0'),
        ('subscriptions', '0003_list_changes_beside_0_1_0'),
    ]

    operations = [
        migrations.RunPython(keep_senders, migrations.RunPython.noop, elidable=True),
    ]
