"""Downloads made for tests, and the outcome of collecting them."""

import zipfile
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.collecting.collect import Collection
from autograder.collecting.placing import Outcome
from autograder.collecting.roster import Roster, read_roster

HW = "hw03-self-attention"
JULY = (2026, 7, 1, 12, 0, 0)
AUGUST = (2026, 8, 1, 12, 0, 0)
BERLIN = ZoneInfo("Europe/Berlin")


def make_zip(path: Path, files: dict, date=JULY) -> Path:
    """Write a zip of ``files``, which maps names to contents or to (content, date).

    Return its path. A date is a tuple of six numbers, as in ``zipfile.ZipInfo.date_time``.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            content, moment = content if isinstance(content, tuple) else (content, date)
            member = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            member.date_time = moment
            archive.writestr(member, content)
    return path


def make_folder(path: Path, files: dict) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return path


def collected(into: Path) -> dict[str, str]:
    """Return the text of each student's notebook in a class's folder, which holds nothing else."""
    files = {p.relative_to(into): p for p in into.rglob("*") if not p.is_dir()}
    found = {p: file for p, file in files.items() if p.name != ".teams.json"}
    assert {p.parts[1:] for p in found} <= {
        (HW, f"{HW}.ipynb"),
        (HW, "timestamp.txt"),
        (HW, "late.txt"),
    }
    return {p.parts[0]: f.read_text() for p, f in found.items() if p.suffix == ".ipynb"}


def outcomes(collection: Collection) -> dict[str, tuple[str, str]]:
    return {line.student: (line.outcome, line.remark) for line in collection.lines}


def problems(collection: Collection) -> dict[str, str]:
    """Return the remark about each file with a problem, by student, or by path if unknown."""
    return {
        line.student or line.source: line.remark
        for line in collection.lines
        if line.outcome is Outcome.PROBLEM
    }


def class_list(tmp_path: Path, rows: str) -> Roster:
    (tmp_path / "class.csv").write_text("lms_id,student,team\n" + rows, encoding="utf-8")
    return read_roster(tmp_path / "class.csv")
