# The container image of Usher: one static program on nothing.
#
#   docker build --tag usher .            for this machine
#   scripts/image                         amd64 and arm64 as one OCI image index, without a daemon
#   docker compose -f compose.dev.yaml build      the one for development
#
# The final stage starts from scratch, so the image has no distribution in it that needs updates: only the program, into
# which glibc of Debian 12 is linked. Compiler, C library and everything else of the build come from Debian 12 with its
# security updates, verified by the archive's signatures. To be current, build again: the scheduled workflow does it weekly.
# To pin the base of the build to the byte, give its digest: --build-arg BUILD_BASE=debian@sha256:…
ARG BUILD_BASE=debian:bookworm-slim

FROM --platform=$BUILDPLATFORM $BUILD_BASE AS build
ARG TARGETARCH
WORKDIR /src
# Before the sources, so that a change of them does not download the compiler again.
COPY scripts/architecture scripts/install-compiler scripts/
RUN scripts/install-compiler "$TARGETARCH"
COPY . .
ARG USHER_COMMIT=unknown
ARG SOURCE_DATE_EPOCH=0
# `dev` builds faster and makes a large image: to try a change of this file.
ARG USHER_PROFILE=release
# `usher-dev` has everything for development, too: a relay, a user's wallet, Lightning accounts.
ARG USHER_PROGRAM=usher
# The caches make a second build quick; the result is the same without them.
RUN --mount=type=cache,target=/root/.cargo/registry --mount=type=cache,target=/build \
    CARGO_TARGET_DIR=/build scripts/static-build "$TARGETARCH" /out/usher "$USHER_PROGRAM" && scripts/image-root /out/usher /out

FROM scratch
ARG VERSION=unknown
ARG USHER_COMMIT=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Usher" \
      org.opencontainers.image.description="Passwordless login, payments and tickets over Nostr, Lightning and Cashu" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.documentation="file:///usr/share/doc/usher/operations.md" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$USHER_COMMIT" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /out/root/ /
COPY --from=build --chown=65532:65532 /out/owned/ /
ENV SERVICE_DATA_DIR=/data \
    SERVICE__INFO__LISTEN_ADDRESS=0.0.0.0
VOLUME /data
# The API, and the pages if SERVICE__PAGES__LISTEN_PORT=3001 gives them a port of their own.
EXPOSE 3000 3001
USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["/usr/bin/usher", "health"]
ENTRYPOINT ["/usr/bin/usher"]
CMD ["serve"]
