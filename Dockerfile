# syntax=docker/dockerfile:1
FROM node:20-slim AS assets
WORKDIR /srv
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json .npmrc ./
COPY app app
COPY templates templates
COPY static static
RUN python3 -c "from pathlib import Path; from app.assets import build_assets; build_assets(project_root=Path())"

FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 PYTHONPATH=/srv WARMLINE_HOME=/var/lib/warmline WARMLINE_HOST=0.0.0.0
WORKDIR /srv
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY alembic.ini ./
COPY migrations migrations
COPY templates templates
COPY app app
COPY workers workers
COPY --from=assets /srv/static static
RUN useradd --system --create-home --home-dir /var/lib/warmline warmline
USER warmline
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=5)"]
CMD ["uvicorn", "app.main:create_app", "--factory", "--host", "0.0.0.0", "--port", "8000", \
     "--no-access-log", "--no-server-header", "--no-proxy-headers", "--timeout-graceful-shutdown", "5"]
