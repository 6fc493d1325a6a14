"""Who is called otherwise than before: by another name at Canvas, or by a class list."""

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from autograder.collecting.attempts import Attempt
from autograder.collecting.folder_names import folder_name
from autograder.collecting.lms_names import canvas_readings
from autograder.collecting.owners import Owner
from autograder.collecting.roster import Roster

_ANONYMOUS = "anon"  # with a submission's letters, which may be digits, for a number


def keep_folders(people: dict[str, list[Attempt]], target: Path, roster: Roster) -> None:
    """Give those who are not listed, and have another name at Canvas now, the folder they have.

    Only where a file's name can be read in one way: else the number may be one of the file's.
    """
    folders: dict[str, list[str]] = defaultdict(list)
    for path in target.iterdir() if target.is_dir() else ():
        name, _, number = path.name.rpartition("_")
        if name != _ANONYMOUS and path.is_dir() and not roster.of(path.name):
            folders[number].append(path.name)
    for person, attempts in people.items():
        owner, number = attempts[0].owner, attempts[0].name.lms_id
        named = folders.get(number, [])
        if owner.listed or owner.problem or len(named) != 1:
            continue
        if all(len(canvas_readings(a.file.parts[-1:])) == 1 for a in attempts):
            renamed = replace(owner, student=named[0])
            people[person] = [replace(attempt, owner=renamed) for attempt in attempts]


def other_folder(owner: Owner, target: Path, roster: Roster, homework_id: str) -> str:
    """Return the folder of somebody who would get a second one; empty if nobody has it."""
    own = target / owner.student
    if (own / homework_id).exists():
        return ""
    there = [o for o in owner.others if (target / o).is_dir() and not roster.of(o)]
    # some file systems take Ada for ada
    return next((o for o in there if not own.exists() or not own.samefile(target / o)), "")


def are_called_by_list(target: Path) -> bool:
    """Say whether there are students' folders, and Canvas calls nobody so."""
    students = {path.parents[1].name for path in target.glob("*/*/*.ipynb")}
    return bool(students) and not any(re.search(r"_[0-9]+\Z", name) for name in students)


def renaming(attempt: Attempt) -> str:
    """Say how a person is called now; empty if that is what the folder is called."""
    now = folder_name(attempt.name.person)
    return "" if attempt.owner.listed or now == attempt.owner.student else f"called {now} now"
