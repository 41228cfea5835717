import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('feedletter_site', '0004_overview'),
    ]

    operations = [
        migrations.CreateModel(
            name='Origin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(max_length=20)),
                ('kind', models.CharField(max_length=20)),
                ('old_key', models.CharField(max_length=100)),
                ('row', models.BigIntegerField()),
                ('taken_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('source', 'kind', 'old_key'), name='origin_once')],
            },
        ),
    ]
