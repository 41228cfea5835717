FROM python:3.12-slim AS packages
RUN python -m venv /venv
COPY requirements/base.txt /tmp/base.txt
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check -r /tmp/base.txt

FROM python:3.12-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --no-create-home --home-dir /app feedletter
COPY --from=packages /venv /venv
WORKDIR /app
COPY . .
# The settings hash and compress static files once their manifest is there: an empty one makes the beginning.
RUN mkdir -p static-root var && echo '{"version": "1.1", "paths": {}}' > static-root/staticfiles.json \
    && SECRET_KEY=only-for-collecting-static-files python manage.py collectstatic --no-input --verbosity 0 \
    && chown feedletter var
USER feedletter
VOLUME /app/var
EXPOSE 8000
# Alone it is the embedded service with SQLite in /app/var; docker-compose.yml runs each part by itself.
CMD ["python", "manage.py", "up", "--bind", "0.0.0.0:8000"]
