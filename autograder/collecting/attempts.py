"""Chooses which notebook of a student counts: the newest with the right name."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from autograder.collecting.handed_in import HandedIn
from autograder.collecting.lms_names import Name
from autograder.collecting.owners import Owner

_NO_TIME = datetime.min.replace(tzinfo=UTC)
_COPY_OF = r"(?P<of>Copy of )?"  # as Colab and Drive call a copy
_OTHER_HOMEWORK = re.compile(rf"{_COPY_OF}hw(?P<number>\d+)", re.IGNORECASE)
# put by platforms, browsers, Jupyter and Windows behind the name of a copy
_AGAIN = r"(?P<copy> - copy|[ _-]copy)?(?:[ _-]?\(?(?P<again>\d{1,3})\)?)?"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A submitted file: its owner, what its path says, and when it was handed in, if known."""

    owner: Owner
    name: Name
    file: HandedIn
    handed_in: datetime | None


class ChoiceError(ValueError):
    """No notebook of a student's can be chosen; the message says why."""


def choose(attempts: Sequence[Attempt], homework_id: str) -> tuple[Attempt, str]:
    """Return the notebook that counts, and a remark about others, which may be empty.

    It is the newest of those with the homework's name, or else the only notebook.
    """
    notebooks = [a for a in attempts if is_notebook_of(a, homework_id)]
    if not notebooks:
        raise ChoiceError(f"no notebook of this homework, only {_listed(attempts)}")
    readable = [attempt for attempt in notebooks if not attempt.file.problem]
    if not readable:
        raise ChoiceError("; ".join(f"{a.name.file}: {a.file.problem}" for a in notebooks))
    named = [attempt for attempt in readable if _copy_number(attempt, homework_id) is not None]
    if not named and len({attempt.name.file for attempt in readable}) > 1:
        raise ChoiceError(
            f"several notebooks, none called {homework_id}.ipynb: {_listed(readable)}"
        )

    def age(attempt: Attempt) -> datetime:
        return attempt.handed_in or _NO_TIME

    last = max(map(age, named), default=None)
    newest = [attempt for attempt in named if age(attempt) == last]
    if len(newest) > 1 and any(_is_copy(attempt, homework_id) for attempt in newest):
        raise ChoiceError(f"which one is the work? It may be each of {_listed(newest)}")

    def order(attempt: Attempt) -> tuple[datetime, int, int, int]:
        """Return a sort key, greatest for the attempt that counts.

        That is the latest; of these the one with the highest number of an upload, then of a copy,
        then the one in the fewest folders.
        """
        again = _copy_number(attempt, homework_id) or 0
        return age(attempt), attempt.name.upload, again, -attempt.name.file.count("/")

    chosen = max(named or readable, key=order)
    rest = [attempt for attempt in notebooks if attempt is not chosen]
    passed = [attempt for attempt in rest if age(attempt) >= age(chosen)]
    if passed:
        return chosen, f"{chosen.name.file} of {len(notebooks)} notebooks, not {_listed(passed)}"
    return chosen, f"the newest of {len(notebooks)} notebooks" if rest else ""


def is_notebook_of(attempt: Attempt, homework_id: str) -> bool:
    """Return whether a file is a notebook, and its name is not another homework's."""
    return attempt.file.is_notebook and not _of_another(attempt, homework_id)


def _copy_number(attempt: Attempt, homework_id: str) -> int | None:
    """Return the number of a copy, such as 2 for ``hw03-self-attention (2).ipynb``.

    It is 0 for the homework's or the student's own name, and None for other file names.
    """
    stem = _stem(attempt)
    if stem == attempt.name.person:  # ada.ipynb
        return 0
    found = _named_like(attempt, homework_id)
    if not found:
        return None
    return int(found["again"] or (stem.lower() != homework_id.lower()))


def _is_copy(attempt: Attempt, homework_id: str) -> bool:
    """Return whether a file is named as a copy made by hand, which may be the work or a backup."""
    found = _named_like(attempt, homework_id)
    return bool(found and (found["of"] or found["copy"]))


def _named_like(attempt: Attempt, homework_id: str) -> re.Match[str] | None:
    return re.fullmatch(_COPY_OF + re.escape(homework_id) + _AGAIN, _stem(attempt), re.IGNORECASE)


def _of_another(attempt: Attempt, homework_id: str) -> bool:
    number = _OTHER_HOMEWORK.match(_stem(attempt))
    own = _OTHER_HOMEWORK.match(homework_id)
    return bool(number and own and number["number"].lstrip("0") != own["number"].lstrip("0"))


def _stem(attempt: Attempt) -> str:
    return attempt.name.file.rpartition("/")[2][: -len(".ipynb")]


def _listed(attempts: Sequence[Attempt]) -> str:
    names = [attempt.name.file for attempt in attempts]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
