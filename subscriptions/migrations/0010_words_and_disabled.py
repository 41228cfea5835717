from django.db import migrations, models

from common.postgresql.operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("subscriptions", "0009_why_readers_leave")]

    operations = [
        migrations.AlterModelOptions(
            name="destination", options={"ordering": ("pk",), "verbose_name": "subscriber"}
        ),
        migrations.AlterModelOptions(
            name="subscribable", options={"ordering": ("name",), "verbose_name": "newsletter"}
        ),
        migrations.AlterModelOptions(name="subscription", options={"ordering": ("-added_at", "-pk")}),
        migrations.AlterModelOptions(
            name="suppression",
            options={
                "ordering": ("-created_at",),
                "verbose_name": "address not to write to",
                "verbose_name_plural": "do not write",
            },
        ),
        AddIndexBeside(
            model_name="destination",
            index=models.Index(
                condition=models.Q(("disabled_at__isnull", False)),
                fields=["id"],
                name="destination_disabled",
            ),
        ),
    ]
