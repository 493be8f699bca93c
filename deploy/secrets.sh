#!/bin/sh
# Makes the secrets that compose.yaml reads, in the folder secrets beside this file. It replaces none. To run as root: the files belong to the
# user 10001 of the image, as the service reads no secret that another user owns.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
random() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
keep() { [ -e "secrets/$1" ] || printf '%s' "$2" >"secrets/$1"; }
keep app_secret "$(random)"
keep postgres_password "$(random)"
keep database_url "postgres://perennial:$(cat secrets/postgres_password)@postgres:5432/perennial?sslmode=disable"
chown 10001:10001 secrets/*
chmod 400 secrets/*
