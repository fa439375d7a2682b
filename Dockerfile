# SPDX-License-Identifier: Apache-2.0
#
# The image of both servers, for those who build with a container engine:
#
#	docker build -t my-registry.example/etjob-servers:0.1.0 .
#
# `make images` makes the same file system without an engine, as build/etjob-image.tar.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
	binutils gcc libc6-dev libcjson-dev libcurl4-openssl-dev libgnutls28-dev \
	libmicrohttpd-dev libssl-dev libyaml-dev make pkg-config
COPY . /src
WORKDIR /src
RUN make -j"$(nproc)" all && make stage

FROM scratch
COPY --from=build /src/build/stage/ /
USER 65532:65532
ENTRYPOINT ["/usr/bin/etjob-controller"]
