#!/usr/bin/env bash
# Runs once, when Gradescope builds the image: /autograder/source holds the zip that was uploaded.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source/course"

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    bubblewrap python3 python3-pip python3-venv

# The image's own Python, if it will do: Ubuntu 24.04's (3.12) does, 22.04's (3.10) does not. Then uv
# brings one, beside the image's, which Gradescope's own programs go on using.
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

# Says in the build's log whether student code can be shut in here.
.venv/bin/python -m autograder doctor || true
