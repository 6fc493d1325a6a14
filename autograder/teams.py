"""Reads and writes the file with the teams of each homework, in the folder of submissions."""

import json
from collections.abc import Mapping
from pathlib import Path

from autograder.class_folders import TEAMS
from autograder.files import write_atomically


def read_teams(submissions: Path, homework_id: str) -> dict[str, str]:
    """Return a mapping of student to team for one homework."""
    return read_all_teams(submissions).get(homework_id, {})


def read_all_teams(submissions: Path) -> dict[str, dict[str, str]]:
    """Return a mapping of homework to student to team; empty without a readable file."""
    try:
        found = json.loads((submissions / TEAMS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {
        homework: {student: team for student, team in of.items() if isinstance(team, str)}
        for homework, of in (found.items() if isinstance(found, dict) else ())
        if isinstance(of, dict)
    }


def put_teams(submissions: Path, homework_id: str, teams: Mapping[str, str]) -> None:
    """Write the teams of one homework; those of other homeworks are kept."""
    known = read_all_teams(submissions)
    if teams != known.get(homework_id, {}):
        write_atomically(submissions / TEAMS, teams_text(known | {homework_id: dict(teams)}))


def teams_text(teams: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of the file of teams; ``teams`` maps homework to student to team."""
    return json.dumps(teams, indent=1, ensure_ascii=False)
