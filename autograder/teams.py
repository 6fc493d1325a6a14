"""Who hands in together, in each homework: a file in the folder of what a class hands in."""

import json
from collections.abc import Mapping
from pathlib import Path

from autograder.atomic_write import write_atomically
from autograder.class_folders import TEAMS


def read_teams(submissions: Path, homework_id: str) -> dict[str, str]:
    """Read who hands in a homework together."""
    return read_all_teams(submissions).get(homework_id, {})


def read_all_teams(submissions: Path) -> dict[str, dict[str, str]]:
    """Read who hands in together."""
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
    """Write who hands in a homework together; what is known of the others stays."""
    known = read_all_teams(submissions)
    if teams != known.get(homework_id, {}):
        write_atomically(submissions / TEAMS, teams_text(known | {homework_id: dict(teams)}))


def teams_text(teams: Mapping[str, Mapping[str, str]]) -> str:
    """Return what such a file holds."""
    return json.dumps(teams, indent=1, ensure_ascii=False)
