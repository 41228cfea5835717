FROM python:3.12.12-slim-bookworm AS packages
RUN python -m venv /venv
COPY requirements/base.txt /tmp/base.txt
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check -r /tmp/base.txt

FROM python:3.12.12-slim-bookworm
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --no-create-home --home-dir /app feedletter
COPY --from=packages /venv /venv
WORKDIR /app
COPY . .
# The settings hash and compress static files once their manifest is there: an empty one makes the beginning.
RUN mkdir -p static-root var/media && echo '{"version": "1.1", "paths": {}}' > static-root/staticfiles.json \
    && SECRET_KEY=only-for-collecting-static-files python manage.py collectstatic --no-input --verbosity 0 \
    && chown -R feedletter var
# (By its number: Kubernetes can tell that it is not root.)
USER 10001
VOLUME /app/var
EXPOSE 8000
# Alone it is the embedded service with SQLite in /app/var; docker-compose.yml runs each part by itself. Who can reach
# it is whom the port is published to; half-sent requests do not stop it (docs/operating/run.md).
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD \
    ["sh", "-c", "python -I feedletter_site/alive.py celery beat && python -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=5)\""]
CMD ["python", "manage.py", "up", "--bind", "0.0.0.0:8000"]
