"""What students get: made from a homework's source, whole or not at all."""

import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from autograder.homework_source.book_headings import find_headings
from autograder.homework_source.book_links import book_address
from autograder.homework_source.generated_assignment import generate_assignment
from autograder.homework_source.homework import Homework
from autograder.homework_source.source import check_rules, load_homework
from autograder.homework_source.student_edition import PACKAGE, write_student_edition
from autograder.sandbox.worker.student_packages import STUDENT_PACKAGES

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip format's own beginning: the same files give the same bytes

_README = """# {title}

The notebook `{homework}.ipynb` says what to do; it is worth {points:g} points.

## Begin

You need Python 3.11, 3.12, 3.13 or 3.14. In a terminal, in this folder:

```
python3 -m venv .venv
.venv/bin/pip install -r requirements.txt
.venv/bin/jupyter lab {homework}.ipynb
```

On Windows write `.venv\\Scripts\\` for `.venv/bin/`. The notebook needs no graphics card. Where
disk space or time is short, this line gets a smaller PyTorch than the second one above:

```
.venv/bin/pip install -r requirements.txt --extra-index-url https://download.pytorch.org/whl/cpu
```

## Read

{book}

## What is here

| file | what for |
|---|---|
| `{homework}.ipynb` | your work; the only file that you change and hand in |
| `course_lib/` | the course's library; what you are to write is not in it yet |
| `requirements.txt` | the versions that the homework was tried with |

## Hand in

Save the notebook after *Kernel > Restart kernel and run all cells*, keep its name, and hand in that
one file. Only the cells that ask for your code or your answer, and cells that you add, are read.
"""

_BOOK_AT = """The notebook leads to sections of the course's book, {address}.
"""

_BOOK_ASKED_FOR = """Words in italics in the notebook, such as *{section}*, are chapters and
sections of the course's book. Where it is, says whoever gave you this homework. If you got it as a
folder or as a zip, unpack it and open `index.html` in a browser: it needs no network, and its
search finds each section.
"""


@dataclass(frozen=True, kw_only=True)
class Release:
    """Where the pieces of a release are.

    Attributes:
        homework: What it was made from.
        source: The instructor's notebook, solutions and hidden tests included.
        assignment: The student notebook, committed with the project.
        edition: Folder that holds the student edition of ``course_lib``, for the judge's workers.
        folder: What students download.
        archive: The same as a zip.
    """

    homework: Homework
    source: Path
    assignment: Path
    edition: Path
    folder: Path
    archive: Path


def release(homework_id: str, root: Path) -> Release:
    """Make everything that students get for a homework.

    A failure leaves the earlier release as it was. The same sources give the same bytes.

    Args:
        homework_id: A homework in ``solutions``: its id, or its number such as ``hw03``.
        root: The project's folder.

    Returns:
        Where the pieces are: ``assignments/<id>/<id>.ipynb``, ``build/source/<id>/<id>.ipynb``,
        ``build/student/<id>/``, and ``dist/hwNN/`` and ``dist/hwNN.zip``.

    Raises:
        HomeworkError: There is no such homework, its source is not well formed, or nbgrader
            refuses it.
    """
    root = root.resolve()  # nbgrader changes the working directory
    homework = load_homework(homework_id, root)
    check_rules(homework)
    number, name = homework.id.split("-")[0], f"{homework.id}.ipynb"
    made = Release(
        homework=homework,
        source=root / "build" / "source" / homework.id / name,
        assignment=root / "assignments" / homework.id / name,
        edition=root / "build" / "student" / homework.id,
        folder=root / "dist" / number,
        archive=root / "dist" / f"{number}.zip",
    )
    (root / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".release-", dir=root / "build") as stage_name:
        stage, course = Path(stage_name), Path(stage_name, "course")
        folder, edition = stage / "folder", stage / "edition"
        folder.mkdir()
        notebook = generate_assignment(homework, course, f"sqlite:///{course / 'gradebook.db'}")
        write_student_edition(homework.id, root, edition)
        shutil.copytree(edition, folder, dirs_exist_ok=True)
        shutil.copyfile(notebook, folder / name)
        (folder / "README.md").write_text(_readme(homework, root), encoding="utf-8")
        (folder / "requirements.txt").write_text(_requirements(homework), encoding="utf-8")
        _write_archive(folder, stage / "archive.zip", homework.id)
        # Nothing can fail from here on but the file system.
        for new, old in (
            (edition, made.edition),
            (folder, made.folder),
            (stage / "archive.zip", made.archive),
            (course / "source" / homework.id / name, made.source),
            (notebook, made.assignment),
        ):
            _put(new, old)
    return made


def _readme(homework: Homework, root: Path) -> str:
    points = sum(check.points for check in homework.checks)
    address = book_address(root)
    _, section = find_headings(homework.checks[0].read, root)
    book = (_BOOK_AT if address else _BOOK_ASKED_FOR).format(address=address, section=section)
    return _README.format(
        title=homework.title, homework=homework.id, points=points, book=book.strip()
    )


def _requirements(homework: Homework) -> str:
    # With what an exercise forbids, students may compare their work in a cell of their own.
    forbidden = {name.partition(".")[0] for cell in homework.cells for name in cell.forbids}
    packages = [*STUDENT_PACKAGES, *sorted(forbidden - {*STUDENT_PACKAGES, PACKAGE})]
    # A local version such as 2.13.0+cpu names a build, not a release.
    pins = [f"{name}=={version(name).partition('+')[0]}" for name in packages]
    return "\n".join(pins) + "\n"


def _write_archive(folder: Path, archive: Path, top: str) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{top}/{path.relative_to(folder).as_posix()}", _EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, path.read_bytes())


def _put(new: Path, old: Path) -> None:
    """Move a file or folder into place; what was there before goes once the new one stands."""
    old.parent.mkdir(parents=True, exist_ok=True)
    if new.is_file():
        new.replace(old)
        return
    retired = new.with_name(f"{new.name}.retired")
    if old.exists():
        old.rename(retired)
    new.rename(old)
