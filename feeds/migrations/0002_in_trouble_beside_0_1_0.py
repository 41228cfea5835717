from django.db import migrations, models


class Migration(migrations.Migration):
    # Partial, and nearly empty: feeds are few enough to be read while it is built.
    allowed = ["require-concurrent-index-creation"]

    dependencies = [
        ('feeds', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='feed',
            index=models.Index(condition=models.Q(('failures__gt', 0), ('held_since__isnull', False), ('alerted_at__isnull', False), _connector='OR'), fields=['id'], name='feed_in_trouble'),
        ),
    ]
