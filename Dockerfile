# An image with oragent: rootless, with every means of isolation that a container allows.
#
#   podman build -t oragent .
#   podman run --rm -it --security-opt seccomp=unconfined --security-opt unmask=ALL --security-opt label=disable \
#       -v ./outputs:/srv/oragent/outputs:Z,U oragent oragent run bpp_online --seconds 120
#
# What the options are for. An evaluation gets namespaces of its own, and the engine's own filter of system calls
# forbids what these are made of: unshare, mount, pivot_root (seccomp=unconfined; candidates have oragent's filter, which
# is far narrower). Parts of /proc that the engine hides keep everybody from mounting another one (unmask=ALL), and so
# do labels keep from mounting at all (label=disable).
# With docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined --security-opt apparmor=unconfined
#
# Without them oragent runs all the same. 'oragent doctor', in the container, tries every means and says which work and
# what is not held; a run says the latter in its first line. No option here gives a container a capability, a device or
# root: --privileged is never needed, and control groups are used where the engine delegates one, and else left out.

ARG PYTHON=3.12
FROM docker.io/library/python:${PYTHON}-slim AS wheel
# hadolint ignore=DL3013
RUN pip install --no-cache-dir build
WORKDIR /source
COPY . .
RUN python -m build --outdir /wheels

FROM docker.io/library/python:${PYTHON}-slim
# libseccomp2: the filter of system calls. procps: ps, for people who look. Compilers are not needed: all is in wheels.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends libseccomp2 procps && rm -rf /var/lib/apt/lists/*
ARG EXTRAS=
ARG TORCH=
COPY --from=wheel /wheels /wheels
# hadolint ignore=DL3013
RUN if [ -n "$TORCH" ]; then pip install --no-cache-dir torch --index-url "$TORCH"; fi \
    && pip install --no-cache-dir "$(ls /wheels/*.whl)${EXTRAS:+[$EXTRAS]}" \
    && rm -r /wheels
# An ordinary user, solver: candidates run as it, without any capability. Kernels that are compiled once lie in its cache.
RUN useradd --create-home --uid 1000 --shell /bin/bash solver && mkdir -p /srv/oragent/outputs && chown -R solver /srv/oragent
USER 1000
WORKDIR /srv/oragent
ENV NUMBA_CACHE_DIR=/home/solver/.cache/oragent
RUN oragent eval bpp_online && oragent --version
CMD ["oragent", "--help"]
