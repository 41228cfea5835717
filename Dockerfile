FROM python:3.13-slim-trixie AS build
WORKDIR /app
COPY requirements/base.txt requirements/base.txt
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --disable-pip-version-check -r requirements/base.txt
COPY . .
# With a manifest, even an empty one, the settings hash and compress static files. Modules are compiled here, because
# later /app is read-only.
RUN mkdir static-root && echo '{"version": "1.1", "paths": {}}' > static-root/staticfiles.json \
    && SECRET_KEY=only-for-collecting-static-files /venv/bin/python manage.py collectstatic --no-input --verbosity 0 \
    && /venv/bin/python -m compileall -q --invalidation-mode unchecked-hash .

FROM python:3.13-slim-trixie
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --no-create-home --home-dir /app feedletter && install -d -o feedletter /app/var /app/var/media
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
# A number, because Kubernetes can't tell whether a name is root.
USER 10001
# It writes to this folder and to /tmp only.
VOLUME /app/var
EXPOSE 8000
# This is the embedded service with SQLite in /app/var, in one process (PROCESSES=2: two); docker-compose.yml and docs/examples/kubernetes.yml run each
# part in its own container, with its own health check.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD \
    ["sh", "-c", "python -I feedletter_site/alive.py celery beat && python -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=5)\""]
CMD ["python", "manage.py", "up", "--bind", "0.0.0.0:8000"]
