#!/usr/bin/env bash
# Runs once, when Gradescope builds the image: /autograder/source holds the zip that was uploaded.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source/course"

# Ubuntu 22.04's own Python is 3.10, which is too old; 3.11 lies beside it.
. /etc/os-release
python=python3
if [ "$VERSION_ID" = 22.04 ]; then python=python3.11; fi

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    bubblewrap "$python" "$python-venv"

"$python" -m venv .venv
.venv/bin/pip install --quiet --extra-index-url https://download.pytorch.org/whl/cpu \
    --requirement requirements.txt
.venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .

# Says in the build's log whether student code can be shut in here.
.venv/bin/python -m autograder doctor || true
