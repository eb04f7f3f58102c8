# The image: one bundled file on a distroless Node, for amd64 and arm64.
# Both bases are pinned: whoever builds says which digests, so that nobody builds on a moving tag by accident (docs/operations/supply-chain.md).
ARG BUILDER=docker.io/library/node:24-trixie-slim
ARG BUILDER_DIGEST
ARG BASE=gcr.io/distroless/nodejs24-debian13:nonroot
ARG BASE_DIGEST

# JavaScript is the same everywhere, so it is bundled once, on the building machine's own architecture.
FROM --platform=${BUILDPLATFORM} ${BUILDER}@${BUILDER_DIGEST} AS build
WORKDIR /source
COPY .npmrc package.json package-lock.json ./
COPY packages/dashboard/package.json packages/dashboard/
COPY packages/keyturn/package.json packages/keyturn/
COPY packages/runtime/package.json packages/runtime/
# No package's own script runs. Not `npm ci`: see the Makefile.
RUN npm install --no-save --ignore-scripts --no-progress --loglevel=error
COPY . .
RUN node tools/build.ts

FROM ${BASE}@${BASE_DIGEST}
ARG BASE
ARG BASE_DIGEST
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Keyturn" \
  org.opencontainers.image.description="The life of a credential in Kubernetes: issue, rotate, publish, verify, roll out." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.base.name="${BASE}" \
  org.opencontainers.image.base.digest="${BASE_DIGEST}"
COPY --from=build /source/LICENSE /source/dist/THIRD-PARTY-LICENSES.txt /licenses/
COPY --from=build /source/dist/keyturn.mjs /source/dist/keyturn.cdx.json /app/
ENV NODE_ENV=production
# The distroless images' nonroot, as a number: Kubernetes cannot tell by a name that it is not root.
USER 65532:65532
# Kubernetes probes /healthz and /readyz itself.
HEALTHCHECK NONE
# A small young generation and no debugger by a signal, as in bin/keyturn. Nothing is written to disk.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=4", "--disable-sigusr1", "/app/keyturn.mjs"]
CMD ["--help"]
