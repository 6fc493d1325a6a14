"""Makes the files that students get for a homework from its source, all or none."""

import hashlib
import json
import shutil
import tempfile
import zipfile
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from autograder.homework_source.book_links import book_address, find_headings
from autograder.homework_source.fetch_edition import fetch_cell, needs
from autograder.homework_source.homework import CellKind, Homework
from autograder.homework_source.source import check_rules, load_homework
from autograder.releasing.generated_assignment import generate_assignment
from autograder.releasing.likely_mistakes import find_likely_mistakes
from autograder.releasing.student_edition import PACKAGE, importable_answers, write_student_edition
from autograder.releasing.students_branch import (
    badges,
    edition_address,
    edition_file,
    students_repository,
    wheel_name,
    write_wheel,
    write_zip,
)
from autograder.sandbox.student_packages import STUDENT_PACKAGES
from course_lib.likely_mistakes import FILE

_README = """# {title}
{badges}
The notebook `{homework}.ipynb` says what to do; it is worth {points:g} points.

## Begin

You need Python 3.11, 3.12, 3.13 or 3.14; on a Mac with an Intel processor, for which this PyTorch
has no build, begin on Colab. In a terminal, in this folder:

```
python3 -m venv .venv
.venv/bin/pip install -r requirements.txt
.venv/bin/jupyter lab {homework}.ipynb
```

On Windows write `.venv\\Scripts\\` for `.venv/bin/`. Where disk space or time is short, this line
gets a smaller PyTorch than the second one above:

```
.venv/bin/pip install -r requirements.txt --extra-index-url https://download.pytorch.org/whl/cpu
```

**VS Code:** open this folder (*File > Open Folder*), not the notebook alone; take *Python: Create
Environment*, or the lines above, and choose `.venv` as the notebook's kernel, at its upper right.

**Colab, Kaggle:** the notebook opens without its folder. Its first cell installs the course's
library, or asks you to upload {number}.zip, and keeps the installed PyTorch. Download the notebook
as `{homework}.ipynb` to hand it in.

{card}

## Read

{book}

## Files

| file | purpose |
|---|---|
| `{homework}.ipynb` | your work; the only file that you change and hand in |
| `course_lib/` | the course's library, without the layers that you will write |
| `requirements.txt` | the versions that the homework was tried with |

## Hand in

Save the notebook after *Kernel > Restart kernel and run all cells*, keep its name, and hand in that
one file. Only the cells that ask for your code or your answer, and cells that you add, are read.
Work is graded with {packages} and Python's own modules; other packages are not installed there.
"""

_BOOK_AT = """The notebook leads to sections of the course's book, {address}.
"""

_BOOK_ASKED_FOR = """Words in italics in the notebook, such as *{section}*, are chapters and
sections of the course's book. Ask the person who gave you this homework where it is. If you got it
as a folder or as a zip, unpack it and open `index.html` in a browser: it needs no network, and its
search finds each section.
"""


_DEVICE = "COURSE_DEVICE"  # which notebooks read from the environment
_NO_CARD = "The notebook needs no graphics card, and has no use for one."

_CARD = """**A graphics card** is not needed, and makes nothing faster: all tensors are small. To
see whether your code follows its inputs onto one of NVIDIA's, run `%env COURSE_DEVICE=cuda` in a
cell above all others, and then the notebook from its start: the tests put their tensors there.
Without that they use the processor (`cpu`). Apple's (`mps`) won't do: it has no float64, in which
some tests compute."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """The paths of a release's files.

    Attributes:
        homework: The homework.
        source: The instructor's notebook, solutions and hidden tests included.
        assignment: The student notebook, committed with the project.
        edition: Folder that holds the student edition of ``course_lib``, for the judge's workers.
        folder: The folder that students download.
        archive: The same folder as a zip.
        wheel: The student edition as a wheel, for notebooks that are opened without the folder.
        warnings: Advice to the instructor.
    """

    homework: Homework
    source: Path
    assignment: Path
    edition: Path
    folder: Path
    archive: Path
    wheel: Path
    warnings: tuple[str, ...] = ()


def release(homework_id: str, root: Path) -> Release:
    """Make all files that students get for a homework, and return their paths.

    A failure leaves the earlier release as it was. The same sources give the same bytes.
    ``homework_id`` may be its number, such as ``hw03``; ``root`` is the project's folder.

    Raises:
        HomeworkError: There is no such homework, its source is invalid, nbgrader rejects
            it, or the address of the students' repository does not begin with https.
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
        wheel=root / "dist" / "editions" / wheel_name(homework.id),
    )
    (root / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".release-", dir=root / "build") as stage_name:
        stage, course = Path(stage_name), Path(stage_name, "course")
        folder, edition = stage / "folder", stage / "edition"
        folder.mkdir()
        write_student_edition(homework.id, root, edition)
        warnings = (
            f'{exercise} can be answered by importing {name}: add withholds="{name}" to its label, '
            "or give it another name"
            for exercise, name in importable_answers(homework, edition)
        )
        made = replace(made, warnings=tuple(warnings))
        if homework.variants:
            known = find_likely_mistakes(homework, root)
            text = json.dumps(known, ensure_ascii=False) + "\n"
            (edition / PACKAGE / FILE).write_text(text, encoding="utf-8")
        write_wheel(edition, homework.id, needs(homework.cells), stage / made.wheel.name)
        published = _as_published(homework, root, stage / made.wheel.name)
        notebook = generate_assignment(published, course, f"sqlite:///{course / 'gradebook.db'}")
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
            (stage / made.wheel.name, made.wheel),
            (course / "source" / homework.id / name, made.source),
            (notebook, made.assignment),
        ):
            _move_over(new, old)
    return made


def _readme(homework: Homework, root: Path) -> str:
    points = sum(check.points for check in homework.checks)
    address = book_address(root)
    _, section = find_headings(homework.checks[0].read, root)
    card = _CARD if any(_DEVICE in cell.source for cell in homework.cells) else _NO_CARD
    book = (_BOOK_AT if address else _BOOK_ASKED_FOR).format(address=address, section=section)
    return _README.format(
        title=homework.title,
        badges=f"\n{line}\n" if (line := badges(homework.id, root)) else "",
        homework=homework.id,
        number=homework.id.split("-")[0],
        points=points,
        packages=", ".join(needs(homework.cells)),
        book=book.strip(),
        card=card.format(homework=homework.id),
    )


def _as_published(homework: Homework, root: Path, wheel: Path) -> Homework:
    """Return the homework with badges that open it on the web, and the address of its library."""
    repository = students_repository(root)
    fetch = fetch_cell(homework.id)
    if repository:
        sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
        address = edition_address(repository, edition_file(wheel.name, sha256))
        fetch = fetch_cell(homework.id, wheel=address, sha256=sha256)
    cells = list(homework.cells)
    place = next(i for i, cell in enumerate(cells) if cell.kind is CellKind.FETCH)
    cells[place] = fetch
    if (line := badges(homework.id, root)) and cells[0].kind is CellKind.TEXT:
        title, _, text = cells[0].source.partition("\n")
        cells[0] = replace(cells[0], source=f"{title}\n\n{line}\n{text}")
    return replace(homework, cells=tuple(cells))


def _requirements(homework: Homework) -> str:
    # A local version such as 2.13.0+cpu names a build, not a release.
    names = dict.fromkeys([*STUDENT_PACKAGES, *needs(homework.cells)])
    pins = [f"{name}=={version(name).partition('+')[0]}" for name in names]
    return "\n".join(pins) + "\n"


def _write_archive(folder: Path, archive: Path, top: str) -> None:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {f"{top}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in paths}
    write_zip(archive, files, zipfile.ZIP_DEFLATED)


def _move_over(new: Path, old: Path) -> None:
    """Move a file or folder from ``new`` to ``old``, in place of the former one.

    A replaced folder is kept beside ``new``, as ``<name>.retired``.
    """
    old.parent.mkdir(parents=True, exist_ok=True)
    if new.is_file():
        new.replace(old)
        return
    retired = new.with_name(f"{new.name}.retired")
    if old.exists():
        old.rename(retired)
    new.rename(old)
