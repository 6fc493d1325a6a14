"""Which notebook of a student's counts: the newest with the right name."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from autograder.collecting.handed_in import HandedIn
from autograder.collecting.lms_names import Name
from autograder.collecting.owners import Owner

_NO_TIME = datetime.min.replace(tzinfo=UTC)
_OTHER_HOMEWORK = re.compile(r"hw(\d+)", re.IGNORECASE)
# what platforms and browsers put behind the name of a file that was handed in again
_AGAIN = r"(?:[ _-]?\(?(?P<again>\d{1,3})\)?|[ _-]copy)?"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A file with its owner.

    Attributes:
        owner: Whose it is.
        name: What the path says.
        file: The file.
    """

    owner: Owner
    name: Name
    file: HandedIn


class ChoiceError(ValueError):
    """No notebook of a student's can be chosen; the message says why."""


def choose(attempts: Sequence[Attempt], homework_id: str) -> Attempt:
    """Choose the notebook that counts.

    Args:
        attempts: Everything that one student handed in.
        homework_id: Such as ``hw03-self-attention``.

    Returns:
        The newest notebook with the homework's name; if none has it, the only one there is.

    Raises:
        ChoiceError: There is no notebook, it must not be read, or there are several and none has
            the name.
    """
    notebooks = [a for a in attempts if a.file.is_notebook and not _of_another(a, homework_id)]
    if not notebooks:
        raise ChoiceError(f"no notebook of this homework, only {_listed(attempts)}")
    readable = [attempt for attempt in notebooks if not attempt.file.problem]
    if not readable:
        raise ChoiceError("; ".join(f"{a.name.file}: {a.file.problem}" for a in notebooks))
    named = [attempt for attempt in readable if _again(attempt, homework_id) is not None]
    if not named and len({attempt.name.file for attempt in readable}) > 1:
        raise ChoiceError(
            f"several notebooks, none called {homework_id}.ipynb: {_listed(readable)}"
        )
    return max(named or readable, key=lambda attempt: _order(attempt, homework_id))


def _order(attempt: Attempt, homework_id: str) -> tuple[int, datetime, int, int]:
    """Later attempts are larger; of two that are alike, the one less deep in folders."""
    again = _again(attempt, homework_id) or 0
    depth = attempt.name.file.count("/")
    return attempt.name.attempt, attempt.file.modified or _NO_TIME, again, -depth


def _again(attempt: Attempt, homework_id: str) -> int | None:
    """Return the number behind the homework's name, 0 if there is none; None for other names."""
    stem = _stem(attempt)
    if stem == attempt.name.person:  # ada.ipynb
        return 0
    found = re.fullmatch(re.escape(homework_id) + _AGAIN, stem, re.IGNORECASE)
    return int(found["again"] or 0) if found else None


def _of_another(attempt: Attempt, homework_id: str) -> bool:
    number = _OTHER_HOMEWORK.match(_stem(attempt))
    own = _OTHER_HOMEWORK.match(homework_id)
    return bool(number and own and number[1].lstrip("0") != own[1].lstrip("0"))


def _stem(attempt: Attempt) -> str:
    return attempt.name.file.rpartition("/")[2][: -len(".ipynb")]


def _listed(attempts: Sequence[Attempt]) -> str:
    names = [attempt.name.file for attempt in attempts]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
