from django.db import migrations, models

from common.postgresql.operations import AddIndexBeside


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("subscriptions", "0008_address_changes_and_why_readers_leave"),
    ]

    operations = [
        AddIndexBeside(
            model_name='subscription',
            index=models.Index(condition=models.Q(('left_why', ''), _negated=True), fields=['subscribable', 'left_why'], name='subscription_left_why'),
        ),
    ]
