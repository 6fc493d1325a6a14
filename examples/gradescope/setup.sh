#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image; /autograder/source has the uploaded zip.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source/course"

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    bubblewrap python3 python3-pip python3-venv

# Use the image's Python if it is new enough: Ubuntu 24.04's (3.12) is, 22.04's (3.10) is not. Otherwise
# uv installs another one; Gradescope's own programs keep using the image's.
if python3 -c 'import sys; sys.exit(not (3, 11, 2) <= sys.version_info[:3] < (3, 15))'; then
    python3 -m venv .venv
else
    echo "$(python3 --version) is too old for the judge: uv fetches another one."
    python3 -m pip install --quiet --target .uv uv
    PYTHONPATH=.uv python3 -m uv venv --quiet --seed --python 3.12 .venv
fi
.venv/bin/pip install --quiet --requirement requirements/torch.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu
.venv/bin/pip install --quiet --requirement requirements/judge.txt
.venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .

# Prints into the build's log whether the sandbox works here.
.venv/bin/python -m autograder doctor || true
