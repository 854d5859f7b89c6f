# promptpo with Ray, everything locked, for a cluster or for one machine: docs/cluster.md.
FROM python:3.11-slim-bookworm AS packages
COPY requirements-ray.txt /
RUN python -m venv --without-pip /opt/venv \
    && pip --python /opt/venv install --no-cache-dir --require-hashes -r /requirements-ray.txt

FROM python:3.11-slim-bookworm
COPY --from=packages /opt/venv /opt/venv
COPY promptpo /opt/app/promptpo
COPY sandbox /opt/app/sandbox
COPY env_specs /opt/app/env_specs
# Bytecode is written now: later nobody may. Then no user of the container owns any of the code.
RUN printf '#!/bin/sh\nexec python -m promptpo "$@"\n' > /usr/local/bin/promptpo \
    && chmod 755 /usr/local/bin/promptpo \
    && /opt/venv/bin/python -m compileall -q /opt/app \
    && useradd --uid 10001 --create-home promptpo \
    && install -d -o promptpo -g promptpo /data
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/opt/app \
    RAY_USAGE_STATS_ENABLED=0
USER promptpo
WORKDIR /data
CMD ["promptpo", "--help"]
