from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('feeds', '0010_read_elsewhere'),
    ]

    operations = [
        migrations.AddField(
            model_name='feed',
            name='boilerplate_end',
            field=models.TextField(blank=True, db_default='', default='', editable=False),
        ),
        migrations.AddField(
            model_name='feed',
            name='boilerplate_start',
            field=models.TextField(blank=True, db_default='', default='', editable=False),
        ),
    ]
