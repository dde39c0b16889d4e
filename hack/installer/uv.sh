#!/bin/sh
# Prints the path of uv, in the version and with the hashes of requirements.lock in this folder; installs it into
# .cache with `.venv/bin/python -m pip` if missing.
set -eu
cd "$(dirname "$0")/../.."
folder=.cache/uv-$(cksum <hack/installer/requirements.lock | cut -d ' ' -f 1)
if [ ! -x "$folder/bin/uv" ]; then
    rm -rf "$folder.part"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
        --require-hashes --target "$folder.part" -r hack/installer/requirements.lock >&2
    mv "$folder.part" "$folder"
fi
printf '%s\n' "$folder/bin/uv"
