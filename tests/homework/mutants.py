"""Tries a homework's checks on mutants of its solutions: ``python -m tests.homework.mutants hw03``.

Each mutant differs from a solution in one small thing; see ``mutation.py``. One that no check
notices is shown as a diff. Either a check is missing then, or the mutant does the same as the
solution: such lines are declared with ``same(...)`` in the homework's source, each with its reason.
"""

import argparse
import difflib
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from autograder.homework_source.homework import (
    Cell,
    CellKind,
    Homework,
    HomeworkError,
    resolve_homework,
)
from autograder.judging.trusted_code import names_of_checks

from .mutation import mutants, plain
from .own_kernel import lost_checks, run_cells
from .submissions import solved_sources
from .tables import ROOT, load_homework, load_table

MEMORY = 4 << 30  # bytes that a mutant may ask for
CELL_SECONDS = 10
ALL_SECONDS = 120  # of processor time: a busy machine must not count as a mutant that is noticed
PATIENCE = 30  # how many times that it may take by the clock
PASSED = 77  # exit status; a mutant may well end its process with 0


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A solution with one small thing changed.

    Attributes:
        exercise: The id of the solution cell.
        source: The changed source of the cell.
        diff: The lines that differ from the solution, each with - or + before it.
    """

    exercise: str
    source: str
    diff: str


def mutants_of(homework: Homework) -> Iterator[Mutant]:
    """Yield the mutants of each of a homework's solutions."""
    for exercise, solution in solved_sources(homework).items():
        before = plain(solution).splitlines()
        for source in mutants(solution):
            lines = difflib.unified_diff(before, source.splitlines(), n=0, lineterm="")
            diff = [line for line in lines if line[:2] not in ("--", "++", "@@")]
            yield Mutant(exercise=exercise, source=source, diff="\n".join(diff))


def survives(mutant: Mutant, homework: Homework) -> bool:
    """Return whether a mutant passes all checks of its homework, run in a new process."""
    child = os.fork()
    if child == 0:
        _die_unless_it_passes(mutant, homework)
    deadline = time.monotonic() + PATIENCE * ALL_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == PASSED
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _die_unless_it_passes(mutant: Mutant, homework: Homework) -> None:
    """Run the checks on a mutant, and end this process: with status PASSED if all pass."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (ALL_SECONDS, ALL_SECONDS))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    passed = False
    try:
        names = names_of_checks(homework, "cpu")
        cells = _cells_with(mutant, homework)
        runs = run_cells(cells, seconds=CELL_SECONDS, stop_when_lost=True, names=names)
        passed = not lost_checks(runs)
    finally:
        os._exit(PASSED if passed else 1)


def _cells_with(mutant: Mutant, homework: Homework) -> list[Cell]:
    """Return the homework's cells with the mutant, without checks before its exercise."""
    cells, begun = [], False
    for cell in homework.cells:
        if cell.grade_id == mutant.exercise:
            begun = True
            cells.append(replace(cell, source=mutant.source))
        elif begun or cell.kind is not CellKind.TEST:
            cells.append(cell)
    return cells


def main(arguments: list[str]) -> int:
    """Try mutants, and print the survivors and the share of detected ones.

    Returns 0 if there are mutants, and each is detected or declared as equivalent.
    """
    parser = argparse.ArgumentParser(prog="mutants", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("homework", help="such as hw03")
    parser.add_argument("--exercise", help="try the mutants of this solution alone")
    parser.add_argument("--sample", type=int, help="try so many, always the same ones")
    options = parser.parse_args(arguments)
    try:
        homework_id = resolve_homework(options.homework, ROOT)
        homework, equivalent = load_homework(homework_id), load_table(homework_id).equivalent
    except HomeworkError as error:
        print(error, file=sys.stderr)
        return 2
    torch.set_num_threads(1)  # a process with threads must not fork
    found = [m for m in mutants_of(homework) if options.exercise in (None, m.exercise)]
    everything = options.sample is None and options.exercise is None
    if options.sample is not None:
        found = random.Random(0).sample(found, min(options.sample, len(found)))
    survivors = [mutant for mutant in found if survives(mutant, homework)]
    excused = {m: [piece for piece in equivalent if piece in m.diff] for m in survivors}
    unexcused = [mutant for mutant in survivors if not excused[mutant]]
    for mutant in unexcused:
        print(f"{mutant.exercise}\n{mutant.diff}\n")
    killed = len(found) - len(survivors)
    different = killed + len(unexcused)
    print(
        f"{homework_id}: {killed} of {different} mutants killed "
        f"({killed / max(different, 1):.0%}); {len(survivors) - len(unexcused)} more survive and "
        "are listed as equivalent"
    )
    used = {piece for pieces in excused.values() for piece in pieces}
    stale = sorted(equivalent.keys() - used) if everything else []
    for piece in stale:
        print(f"no mutant that survives has {piece!r}, listed as equivalent", file=sys.stderr)
    return 1 if unexcused or stale or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
