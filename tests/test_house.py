"""The house rules: imports between rooms, file names, the course map, links, the wheel."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import course_lib
from course_lib.course_map import COURSE_MAP
from scripts.architecture import with_rooms
from scripts.course_map import with_table

ROOT = Path(__file__).parent.parent
OUR_PACKAGES = (
    "course_lib", "autograder", "tests", "solutions", "benchmarks", "scripts", "deploy", "book",
    "course_book",
)  # fmt: skip


@cache
def project_files() -> tuple[str, ...]:
    """Return the files that git tracks or does not ignore, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def is_vendored(name: str) -> bool:
    """Return whether a file of the repository is a copy of somebody else's."""
    return "/katex/" in name or name.startswith("LICENSES/") or ".min." in name


def imported_names(file: Path) -> set[str]:
    """Return the full names that a Python file imports, relative imports resolved."""
    package = file.relative_to(ROOT).parent.parts
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *([node.module] if node.module else [])))
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


# ---- imports between rooms ----

ROOMS_BELOW_ANALYSIS = "layers models generation tokenization data metrics training"
BELOW_JUDGING = "autograder.clean_text autograder.homework_source autograder.sandbox"
BELOW_CLASS_RUN = (
    f"{BELOW_JUDGING} autograder.files autograder.class_folders autograder.moments"
    " autograder.releasing autograder.judging autograder.teams"
)
MAY_IMPORT = {
    "course_lib": "",
    "course_lib/layers": "",
    "course_lib/tokenization": "",
    "course_lib/metrics": "",
    "course_lib/training": "",
    "course_lib/data": "tokenization layers.masks",
    "course_lib/data/translation_grammar": "",
    "course_lib/models": "layers",
    "course_lib/models/pretrained": "layers models tokenization",
    "course_lib/generation": "layers models",
    "course_lib/analysis": ROOMS_BELOW_ANALYSIS,
    "course_lib/plotting": f"{ROOMS_BELOW_ANALYSIS} analysis",
    "course_lib/recipes": f"{ROOMS_BELOW_ANALYSIS} analysis plotting",
    "autograder": "course_lib autograder",
    "autograder/sandbox/worker": "",
    "autograder/sandbox": "autograder.sandbox.worker",
    "autograder/homework_source": (
        "autograder.files autograder.sandbox.student_packages autograder.sandbox.worker"
    ),
    "autograder/releasing": (
        "course_lib autograder.homework_source autograder.sandbox.student_packages"
        " autograder.sandbox.worker"
    ),
    "autograder/judging": f"course_lib {BELOW_JUDGING}",
    "autograder/class_run": f"course_lib {BELOW_CLASS_RUN}",
    "autograder/marks": "autograder.judging",
    "autograder/cluster": ("autograder.class_run autograder.homework_source autograder.judging"),
    "autograder/exports": "autograder.clean_text autograder.judging autograder.marks"
    " autograder.reports",
    "autograder/term": (
        "autograder.files autograder.class_folders autograder.judging autograder.marks"
        " autograder.moments autograder.reports"
    ),
    "autograder/gradebook": (
        f"{BELOW_CLASS_RUN} autograder.class_run autograder.marks autograder.reports"
        " autograder.term"
    ),
    "autograder/reports": (
        "autograder.files autograder.class_folders autograder.clean_text"
        " autograder.homework_source autograder.judging autograder.marks"
    ),
    "autograder/collecting": (
        "autograder.files autograder.class_folders autograder.judging"
        " autograder.moments autograder.teams"
    ),
    "solutions": "course_lib",
    "book": "course_lib course_book",
    "book/_ext/course_book": "course_lib course_book",
    "book/_ext/course_book/diagrams": "",
    "book/_ext/course_book/directives": "course_lib course_book.site",
    "book/_ext/course_book/figures": "course_lib",
    "book/_ext/course_book/markup": "course_lib course_book.site",
    "book/_ext/course_book/notebooks": (
        "course_lib course_book.directives course_book.markup course_book.site"
    ),
    "book/_ext/course_book/site": "course_lib",
    "scripts": "course_lib course_book",
    "deploy": "autograder.homework_source autograder.releasing",
}
"""Packages of this project that the files of a folder may import, besides the folder itself. A
folder without a row has its parent's. Rooms of ``course_lib`` are named without ``course_lib``, and
all may import EVERY_ROOM_S."""
EVERY_ROOM_S = ("validation", "atomic_write")

MOST_MODULES = 12  # in a room, ``__main__`` not counted
FOLDERS = {"course_book": "book/_ext/course_book"}  # of packages that are not at the root


@cache
def modules_of(package: str) -> dict[str, Path]:
    """Return the files of a package's modules, by the modules' full names."""
    folder = ROOT / FOLDERS.get(package, package)
    return {
        ".".join([package, *file.relative_to(folder).with_suffix("").parts]): file
        for file in sorted(folder.rglob("*.py"))
    }


def room_of(module: str) -> str:
    """Return the key of ``MAY_IMPORT`` for a module or folder; empty if there is none."""
    package, *within = module.replace(".", "/").split("/")
    above = [*FOLDERS.get(package, package).split("/"), *within]
    folders = ("/".join(above[:end]) for end in range(len(above), 0, -1))
    return next((folder for folder in folders if folder in MAY_IMPORT), "")


def allowed(room: str) -> list[str]:
    """Return the full names of the packages that a key of ``MAY_IMPORT`` permits."""
    if not room.startswith("course_lib"):
        return MAY_IMPORT[room].split()
    return [f"course_lib.{name}" for name in (*MAY_IMPORT[room].split(), *EVERY_ROOM_S)]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_room_imports_only_permitted_rooms(room: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted((ROOT / room).rglob("*.py"))
        if room_of(str(file.relative_to(ROOT).parent)) == room
        for name in imported_names(file)
        if name.split(".")[0] in OUR_PACKAGES
        if room_of(name) != room
        if not any(f"{name}.".startswith(f"{other}.") for other in allowed(room))
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("package", ["course_lib", "autograder", "course_book"])
def test_imports_between_modules_have_no_cycle(package: str) -> None:
    modules = modules_of(package)
    arrows = {
        module: {
            target
            for name in imported_names(file)
            for target in (name, name.rpartition(".")[0])
            if target in modules and target != module
        }
        for module, file in modules.items()
    }
    TopologicalSorter(arrows).prepare()  # raises CycleError, which names the cycle


def room_docstrings(package: str) -> dict[str, tuple[ast.Module, str]]:
    """Return the syntax tree and docstring of each ``__init__.py`` in a package, by its folder."""
    trees = {
        str(file.parent.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8"))
        for module, file in modules_of(package).items()
        if module.endswith(".__init__")
    }
    return {room: (tree, ast.get_docstring(tree) or "") for room, tree in trees.items()}


VERSION = f"__version__ = {course_lib.__version__!r}"


def test_room_has_a_docstring_and_no_code() -> None:
    """Importing a package costs nothing, and each name has one module to import it from."""
    rooms = {
        room: (sum(ast.unparse(s) != VERSION for s in tree.body), bool(doc))
        for package in ("course_lib", "course_book")
        for room, (tree, doc) in room_docstrings(package).items()
        if room != FOLDERS["course_book"]  # it sets up the Sphinx extension
    }
    assert not [room for room, (statements, said) in rooms.items() if statements != said]
    assert all(said for room, (_, said) in rooms.items() if room.startswith("book"))


def test_rooms_docstring_names_its_imports() -> None:
    said = {
        room: set(re.findall(r"``([\w.]+)``", doc.rpartition("Imports ")[2]))
        for room, (_, doc) in room_docstrings("course_lib").items()
        if room in MAY_IMPORT and room != "course_lib"
    }
    assert len(said) >= 10
    assert said == {room: set(MAY_IMPORT[room].split()) for room in said}


@pytest.mark.parametrize("package", ["course_lib", "course_book"])
def test_room_has_at_most_a_dozen_modules(package: str) -> None:
    rooms = Counter(
        module.rpartition(".")[0]
        for module in modules_of(package)
        if not module.endswith(("__init__", "__main__"))
    )
    assert not {room: count for room, count in rooms.items() if count > MOST_MODULES}


SHARED_BY_FIGURES = {"figure", "script_lists", "translator"}


def test_figure_imports_only_shared_modules() -> None:
    extension = ROOT / FOLDERS["course_book"]
    assert {file.name for file in extension.glob("*.py")} == {"__init__.py"}
    figures = sorted(extension.glob("figures/*/figure.py"))
    assert len(figures) > 20
    wrong = {
        f"{file.parent.name} imports {name}"
        for file in figures
        for name in imported_names(file)
        if name.startswith("course_book.") and name.split(".")[2] not in SHARED_BY_FIGURES
    }
    assert not wrong


# ---- files ----


def test_files_are_named_by_concept() -> None:
    vague = re.compile(r"(^|/)(utils?|helpers?|common|misc)(\.[a-z]+$|/)")
    assert not [name for name in project_files() if vague.search(name)]


def test_no_file_names_a_folder_of_one_machine() -> None:
    one_machine = re.compile(r"(?<![\w.:/-])/(?:home|root|Users|work|mnt)/\w")
    found = []
    for name in project_files():
        if is_vendored(name) or name == "tests/test_house.py":
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # an image or a font
        found += [
            f"{name}:{number}"
            for number, line in enumerate(text.splitlines(), 1)
            if one_machine.search(line)
        ]
    assert not found, found


def test_docstrings_name_chapters_by_their_titles() -> None:
    pages = {file.stem: file.read_text(encoding="utf-8") for file in (ROOT / "book").glob("*.md")}
    titles = {re.search(r"^# (.+)$", page, flags=re.MULTILINE)[1] for page in pages.values()}
    unwritten = {room.chapter for room in COURSE_MAP} - pages.keys()
    named = [
        (name, " ".join(title.split()))
        for name in project_files()
        if name.startswith("course_lib/") and name.endswith(".py")
        for title in re.findall(r'chapter\s+"([^"]+)"', (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert len(named) > 100
    wrong = [
        (name, title)
        for name, title in named
        if title not in titles and title.lower().replace(" ", "-") not in unwritten
    ]
    assert not wrong, wrong


# ---- the course map ----

NO_CHAPTER_S_OWN = ("plotting.", "testing", "recipes.")


@cache
def modules_named_in(chapter: str) -> frozenset[str]:
    """Return the modules of course_lib that a chapter imports, includes or names."""
    page = (ROOT / "book" / f"{chapter}.md").read_text(encoding="utf-8")
    named = "\n".join(re.findall(r"\bcourse_lib[\w./]+", page)).replace("/", ".")
    modules = (module.partition(".")[2] for module in modules_of("course_lib"))
    return frozenset(
        m for m in modules if re.search(rf"^course_lib\.{re.escape(m)}\b", named, re.M)
    )


def written_chapters() -> list[str]:
    """Return the names of the pages in the table of contents that may be chapters."""
    listed = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    chapters = re.findall(r"- file: book/(\S+)", listed)
    return [name for name in chapters if not name.startswith(("api", "for-", "status"))]


def test_course_map_gives_each_module_to_a_chapter_that_uses_it() -> None:
    written = written_chapters()
    wrong = [
        row
        for row in COURSE_MAP
        if row.chapter in written and row.module and row.module not in modules_named_in(row.chapter)
    ]
    assert not wrong, "import, show or name the module there, or mend the map"
    modules = [row.module for row in COURSE_MAP if row.module]
    assert len(set(modules)) == len(modules)


def test_course_map_has_each_module_that_a_chapter_uses() -> None:
    used = set().union(*(modules_named_in(chapter) for chapter in written_chapters()))
    missing = used - {row.module for row in COURSE_MAP}
    assert not {module for module in missing if not module.startswith(NO_CHAPTER_S_OWN)}


def test_course_map_names_the_first_homework_that_withholds_a_module() -> None:
    asked: dict[str, str] = {}
    for file in sorted((ROOT / "solutions").glob("hw*.py")):
        for module in re.findall(r'of="course_lib\.([\w.]+)"', file.read_text(encoding="utf-8")):
            asked.setdefault(module, file.stem)
    on_map = {row.module: row.homework for row in COURSE_MAP}
    assert asked == {module: on_map.get(module) for module in asked}


# ---- README ----


def test_readme_has_the_current_course_map() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_table(text) == text, "run: make map"


def test_readme_without_markers_is_rejected() -> None:
    with pytest.raises(SystemExit, match="needs the lines"):
        with_table("# A course\n")


def test_architecture_page_shows_the_rooms_and_imports_of_the_code() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert with_rooms(text) == text, "run: make map"
    listed = text.split("```\n", 1)[1].split("```")[0]
    lines = re.findall(r"^ *((?:[\w.]+/ ?)+)", listed, flags=re.MULTILINE)
    folders = " ".join(lines).replace("_ext/", "book/_ext/").split()
    assert len(folders) >= 12
    assert not [folder for folder in folders if not (ROOT / folder).is_dir()]


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_page_links_only_to_files_that_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert len(links) >= 3
    assert not [link for link in links if not (ROOT / link).exists()]


def test_readme_names_only_targets_that_make_has() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*## ", makefile, flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z]+)", text, flags=re.MULTILINE))
    assert {"course", "test", "serve", "grade", "release"} <= named
    assert named <= targets, named - targets


def test_pages_name_only_modules_and_names_that_exist() -> None:
    named = {
        (file, full)
        for file in project_files()
        if re.fullmatch(
            r"(book|autograder|benchmarks|deploy|examples/\w+)/[\w-]+\.md|README\.md", file
        )
        for full in re.findall(r"\bcourse_lib(?:\.[A-Za-z]\w*)+", (ROOT / file).read_text("utf-8"))
    }
    assert len(named) > 100
    assert not [(file, full) for file, full in sorted(named) if not _exists(full)]


def _exists(full: str) -> bool:
    """Return whether a dotted name is a module, or a word in the module before its last dot."""
    path, _, name = full.replace(".", "/").rpartition("/")
    if (ROOT / path / name).is_dir() or (ROOT / path / f"{name}.py").is_file():
        return True
    module = ROOT / f"{path}.py"
    return module.is_file() and name in re.findall(r"\w+", module.read_text(encoding="utf-8"))


# ---- distributions ----


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel and an sdist, built from a copy of the project."""
    copy = tmp_path_factory.mktemp("copy")
    for name in project_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    program = (
        "import setuptools.build_meta as backend;"
        "backend.build_wheel('shipped'); backend.build_sdist('shipped')"
    )
    (copy / "shipped").mkdir()
    subprocess.run([sys.executable, "-c", program], cwd=copy, check=True, capture_output=True)
    return copy / "shipped"


@pytest.fixture(scope="module")
def shipped_names(shipped: Path) -> dict[str, list[str]]:
    """The names of the files in the distributions, by kind: ``wheel`` and ``sdist``."""
    (wheel,) = shipped.glob("*.whl")
    (sdist,) = shipped.glob("*.tar.gz")
    return {
        "wheel": zipfile.ZipFile(wheel).namelist(),
        "sdist": [name.partition("/")[2] for name in tarfile.open(sdist).getnames()],
    }


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_distributions_have_the_whole_library_and_no_homework(
    kind: str, shipped_names: dict[str, list[str]]
) -> None:
    ours = {name for name in project_files() if name.startswith("course_lib/")}
    assert not ours - set(shipped_names[kind])
    withheld = ("solutions/", "assignments/", "tests/homework/", "autograder/", "dist/", "build/")
    assert not [name for name in shipped_names[kind] if name.startswith(withheld)]


def test_wheel_has_only_the_library(shipped_names: dict[str, list[str]]) -> None:
    others = [name for name in shipped_names["wheel"] if not name.startswith("course_lib/")]
    assert others
    assert all(".dist-info/" in name for name in others)


def test_wheel_has_the_librarys_version(shipped: Path) -> None:
    assert [path.name.split("-")[1] for path in shipped.glob("*.whl")] == [course_lib.__version__]


def test_distributions_have_both_licences(shipped_names: dict[str, list[str]]) -> None:
    assert [name for name in shipped_names["wheel"] if name.endswith("licenses/LICENSE")]
    assert [name for name in shipped_names["wheel"] if name.endswith("LICENSES/CC-BY-4.0.txt")]


IMPORT_ALL = """
import importlib, pkgutil, course_lib
names = [m.name for m in pkgutil.walk_packages(course_lib.__path__, "course_lib.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names), course_lib.__file__)
"""


@pytest.mark.proof
def test_every_module_of_the_wheel_can_be_imported_without_the_project(
    shipped: Path, tmp_path: Path
) -> None:
    (wheel,) = shipped.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    # -S: no .pth file adds the project to the path.
    packages = os.pathsep.join([str(tmp_path), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [sys.executable, "-S", "-c", IMPORT_ALL], cwd=tmp_path, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": packages},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    count, place = done.stdout.split()
    assert int(count) > 100
    assert Path(place).is_relative_to(tmp_path)


@pytest.mark.proof
def test_wheel_can_be_installed_with_the_pins_of_its_group(shipped: Path, tmp_path: Path) -> None:
    (wheel,) = shipped.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True)
    python = tmp_path / "bin" / "python"
    for arguments in (
        ["-r", str(ROOT / "requirements" / "torch.txt")],
        ["-r", str(ROOT / "requirements" / "course.txt")],
        ["--no-index", f"{wheel}[recipes]"],
    ):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    subprocess.run([python, "-c", IMPORT_ALL], cwd=tmp_path, check=True)
