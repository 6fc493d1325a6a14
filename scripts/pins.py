"""Write requirements/: ``make pins``, or ``make pins NEWEST=1`` to take newer versions.

The requirements are those of pyproject.toml. One resolution serves every Python and platform named
there, and all groups; pinned versions are kept where they still fit. Each file holds only the pins
that are not in the files that it includes. PyTorch stands in ``requirements/torch.txt``, by hand
and without hashes, as each of its builds has its own; its CUDA packages come along with that build.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements"
INCLUDES = {
    "course": (),
    "judge": ("course",),
    "book": ("course",),
    "test": ("judge", "book"),
    "hub": ("judge",),
}
"""The groups, and for each the groups that its file includes."""

_TORCH_BRINGS = ("torch", "triton", "cuda-", "nvidia-")
_HEADER = "# Written by `make pins` from pyproject.toml. PyTorch is installed first: -r torch.txt\n"


def entries(text: str) -> dict[str, str]:
    """Return the text of each requirement in a requirements file's text, hashes included.

    The keys have the form ``name==version ; marker``.
    """
    found = re.findall(r"^[a-z0-9][^\n]*\n(?:    [^\n]*\n)*", text, flags=re.MULTILINE)
    return {entry.partition(" \\\n")[0].rstrip(): entry for entry in found}


def lowest_python(pyproject: str) -> str:
    """Return the oldest Python that the text of pyproject.toml allows, such as ``3.11.2``."""
    allowed = SpecifierSet(tomllib.loads(pyproject)["project"]["requires-python"])
    return next(part.version for part in allowed if part.operator == ">=")


def resolve(groups: Sequence[str], constraints: Path, *arguments: str) -> str:
    """Choose versions for some groups of pyproject.toml together, with uv.

    Args:
        groups: Names of groups, keys of ``INCLUDES``.
        constraints: A requirements file that the chosen versions must agree with.
        arguments: More options for uv.

    Returns:
        The text of a requirements file with all packages that the groups need, hashes included.
    """
    pyproject = ROOT / "pyproject.toml"
    command = [
        sys.executable, "-m", "uv", "pip", "compile", str(pyproject), "--extra", "recipes",
        *(f"--group={pyproject}:{group}" for group in groups if group != "course"),
        "--constraints", str(constraints), "--universal", "--fork-strategy", "fewest",
        "--python-version", lowest_python(pyproject.read_text(encoding="utf-8")),
        "--generate-hashes", "--no-annotate", "--no-header", *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit("pins: uv found no versions that fit, see above")
    return done.stdout


def main(*, newest: bool) -> None:
    """Write the requirements file of each group; ``newest`` replaces pins by newer versions."""
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole.txt"  # uv prefers the versions that it finds in its output
        old = "" if newest else "".join(map(pinned, INCLUDES))
        whole.write_text("".join(entries(old).values()), encoding="utf-8")
        resolve(list(INCLUDES), REQUIREMENTS / "torch.txt", "--output-file", str(whole))
        held: dict[str, set[str]] = {}
        texts: dict[str, str] = {}
        for group, included in INCLUDES.items():
            needed = {
                pin: entry
                for pin, entry in entries(resolve([group], whole)).items()
                if not pin.startswith(_TORCH_BRINGS)
            }
            held[group] = set(needed)
            elsewhere = set[str]().union(*(held[other] for other in included))
            own = (entry for pin, entry in needed.items() if pin not in elsewhere)
            texts[group] = "".join([_HEADER, *(f"-r {other}.txt\n" for other in included), *own])
    for group, text in texts.items():
        (REQUIREMENTS / f"{group}.txt").write_text(text, encoding="utf-8")


def pinned(group: str) -> str:
    """Return the text of a group's requirements file; empty if there is none yet."""
    path = REQUIREMENTS / f"{group}.txt"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    main(newest=sys.argv[1:] == ["--newest"])
