from django.db import migrations, models

from common.postgresql.operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("delivery", "0003_what_waits_because_of_ourselves")]

    operations = [
        AddIndexBeside(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state__in", ("failed", "cancelled", "held"))),
                fields=["state", "id", "created_at"],
                name="delivery_aside",
            ),
        ),
        AddIndexBeside(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("kind", "issue"), ("sent_at__isnull", False)),
                fields=["sent_at"],
                name="delivery_sent",
            ),
        ),
    ]
