"""The pins in requirements/: exact, hashed, complete, installable on every supported Python."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from autograder.cli.commands import doctor
from scripts.pins import INCLUDES, entries, lowest_python
from tests.test_house import OUR_PACKAGES, imported_names, project_files

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11.2", "3.12.0", "3.13.0", "3.14.0")
"""The oldest supported patch version of each release."""

TORCH = "torch==2.13.0"
NEEDS = {"course_lib": "course", "autograder": "judge", "book": "book", "deploy": "hub"}
"""The group that must contain all packages that a folder imports; ``test`` for other folders."""


@cache
def project() -> dict:
    """Return the content of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def own_entries(group: str) -> dict[str, str]:
    """Return the lines of each requirement in a group's file, without included files."""
    return entries((ROOT / "requirements" / f"{group}.txt").read_text(encoding="utf-8"))


@cache
def pins(group: str) -> dict[str, tuple[str, str]]:
    """Return version and marker of each package that a group's file pins, by normalised name.

    Included files count too.
    """
    found = {}
    for other in INCLUDES[group]:
        found |= pins(other)
    for pin in own_entries(group):
        requirement, _, marker = pin.partition(" ; ")
        name, _, version = requirement.partition("==")
        found[name] = (version, marker)
    return found


def requirements_of(group: str) -> list[Requirement]:
    """Return a group's requirements in pyproject.toml."""
    if group == "course":
        extra = project()["project"]["optional-dependencies"]["recipes"]
        return [Requirement(line) for line in (*project()["project"]["dependencies"], *extra)]
    lines = project()["dependency-groups"][group]
    return [Requirement(line) for line in lines if isinstance(line, str)]


# ---- the Pythons ----


def test_all_files_name_the_same_python_versions() -> None:
    read = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "README.md")}
    allowed = SpecifierSet(project()["project"]["requires-python"])
    assert allowed == SpecifierSet(">=3.11.2,<3.15")
    assert all(python in allowed for python in PYTHONS)
    assert "(3, 11, 2) <= sys.version_info[:3] < (3, 15)" in read["Makefile"]
    assert "Python 3.11.2 to 3.14" in " ".join(read["README.md"].split())
    assert (doctor._OLDEST_PYTHON, doctor._NEWEST_PYTHON) == ((3, 11, 2), (3, 14))
    workflow = (ROOT / ".github" / "workflows" / "course.yml").read_text(encoding="utf-8")
    tried = re.findall(r"\{ python: \"([\d.]+)\"", workflow)
    assert sorted(tried) == [python.rpartition(".")[0] for python in PYTHONS]
    assert '"debian:12"' in workflow  # it has the oldest supported Python
    assert "PYTHON: /usr/bin/python${{ matrix.python }}" in workflow


def test_oldest_python_is_read_from_pyproject() -> None:
    assert lowest_python('[project]\nrequires-python = "<3.15,>=3.11.2"') == "3.11.2"


@pytest.mark.parametrize("python", PYTHONS)
def test_each_pin_supports_each_python(python: str) -> None:
    """Check the installed packages' own metadata, so only those of this system."""
    environment = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    checked = refused = 0
    for name, (version, marker) in pins("test").items():
        here = not marker or Marker(marker).evaluate()
        if not here or (marker and not Marker(marker).evaluate(environment)):
            continue
        package = distribution(name)
        assert package.version == version, f"{name} is not the pinned version: make install"
        checked += 1
        refused += python not in SpecifierSet(package.metadata.get("Requires-Python", ""))
    assert (refused, checked > 150) == (0, True)


@pytest.mark.proof
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    "platform", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin"]
)
def test_each_pin_has_a_wheel_for_each_python_and_platform(
    python: str, platform: str, tmp_path: Path
) -> None:
    for arguments in (["--require-hashes", "-r", "requirements.txt"], ["--no-deps", TORCH]):
        command = [
            sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--target", str(tmp_path),
            "--python-version", python, "--python-platform", platform,
            "--only-binary", ":all:", *arguments,
        ]  # fmt: skip
        environment = os.environ | {"MACOSX_DEPLOYMENT_TARGET": "14.0"}  # torch's oldest macOS
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr


# ---- the files ----


@pytest.mark.parametrize("group", INCLUDES)
def test_file_has_exact_pins_with_hashes_and_no_index(group: str) -> None:
    text = (ROOT / "requirements" / f"{group}.txt").read_text(encoding="utf-8")
    pin = re.compile(
        r"[a-z0-9][a-z0-9-]*==\d[a-z0-9.]*( ; [^\\\n]+)?"
        r"( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    )
    found = own_entries(group)
    assert len(found) > 10
    assert not [entry for entry in found.values() if not pin.fullmatch(entry)]
    head = text.partition(next(iter(found.values())))[0].splitlines()[1:]
    assert head == [f"-r {other}.txt" for other in INCLUDES[group]]
    assert "://" not in text


def test_requirements_txt_includes_all_groups() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert re.findall(r"^[^#\n].*", text, flags=re.MULTILINE) == ["-r requirements/test.txt"]
    assert set(project()["dependency-groups"]) == set(INCLUDES) - {"course"}


def test_groups_agree_on_versions() -> None:
    found = {pin for group in INCLUDES for pin in map(_without_marker, own_entries(group))}
    names = [pin.partition("==")[0] for pin in found]
    assert len(names) == len(set(names))


def _without_marker(pin: str) -> str:
    """Return ``name==version`` of a pin."""
    return pin.partition(" ; ")[0]


def test_torch_is_pinned_alone_and_its_requirements_with_the_course() -> None:
    text = (ROOT / "requirements" / "torch.txt").read_text(encoding="utf-8")
    assert re.findall(r"^[^#\n].*", text, flags=re.MULTILINE) == [TORCH]
    needed = {
        canonicalize_name(need.name)
        for need in map(Requirement, distribution("torch").requires or ())
        if not need.name.startswith(("nvidia-", "cuda-", "triton"))
        if need.marker is None or need.marker.evaluate({"extra": ""})
    }
    assert needed
    assert needed <= pins("course").keys()
    assert not [n for n in pins("test") if n.startswith(("torch", "nvidia-", "cuda-", "triton"))]


def test_no_pin_requires_another_torch() -> None:
    asking = [
        name
        for name, (_, marker) in pins("test").items()
        if not marker or Marker(marker).evaluate()
        for need in map(Requirement, distribution(name).requires or ())
        if need.name == "torch" and (not need.marker or need.marker.evaluate({"extra": ""}))
    ]
    assert not asking


# ---- requirements ----


@pytest.mark.parametrize("group", INCLUDES)
def test_pins_satisfy_the_projects_requirements(group: str) -> None:
    pinned = pins(group) | {"torch": (TORCH.partition("==")[2], "")}
    for need in requirements_of(group):
        name = canonicalize_name(need.name)
        assert name in pinned, f"make pins: {need.name} is not pinned"
        assert pinned[name][0] in need.specifier, f"make pins: the pin does not satisfy {need}"


@pytest.mark.parametrize("group", INCLUDES)
def test_group_has_all_packages_that_its_code_imports(group: str) -> None:
    pinned = {"torch", *pins(group)}
    sold_by = packages_distributions()
    missing = {
        f"{name} imports {module}"
        for name in project_files()
        if name.endswith(".py") and not name.startswith(("solutions/", "examples/", "assignments/"))
        if NEEDS.get(name.split("/")[0], "test") == group
        for module in {full.split(".")[0] for full in imported_names(ROOT / name)}
        if module not in sys.stdlib_module_names and module not in (*OUR_PACKAGES, "figures")
        if not pinned & {canonicalize_name(seller) for seller in sold_by.get(module, ())}
    }
    assert not missing, missing


def test_book_group_has_all_packages_that_chapters_import() -> None:
    cell = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    pages = (page.read_text(encoding="utf-8") for page in (ROOT / "book").glob("*.md"))
    code = "\n".join(source for page in pages for source in cell.findall(page))
    modules = set(re.findall(r"^\s*(?:from|import) (\w+)", code, flags=re.MULTILINE))
    assert {"torch", "sacrebleu", "transformers"} <= modules
    others = modules - set(sys.stdlib_module_names) - set(OUR_PACKAGES)
    sold_by = packages_distributions()
    held = {"torch", *pins("book")}
    assert not {m for m in others if not held & {canonicalize_name(n) for n in sold_by.get(m, ())}}


def test_entries_of_a_requirements_file_are_not_split() -> None:
    text = "# a comment\n-r course.txt\na==1 ; x == 'y' \\\n    --hash=sha256:0\nb==2\n"
    assert entries(text) == {
        "a==1 ; x == 'y'": "a==1 ; x == 'y' \\\n    --hash=sha256:0\n",
        "b==2": "b==2\n",
    }
