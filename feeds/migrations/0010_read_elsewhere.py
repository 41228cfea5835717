from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('feeds', '0009_read_by_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='feed',
            name='read_elsewhere_until',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
