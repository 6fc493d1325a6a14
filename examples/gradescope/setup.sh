#!/usr/bin/env bash
# Runs once, when Gradescope builds the image: /autograder/source holds the zip that was uploaded.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source/course"

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    bubblewrap python3 python3-venv

python3 -m venv .venv
.venv/bin/pip install --quiet --requirement requirements/torch.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu
.venv/bin/pip install --quiet --requirement requirements/judge.txt
.venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .

# Says in the build's log whether student code can be shut in here.
.venv/bin/python -m autograder doctor || true
