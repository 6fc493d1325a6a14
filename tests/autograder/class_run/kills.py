"""Kills the processes of class runs at random moments and checks the files that remain.

    python -m tests.autograder.class_run.kills 40            # so many kills, with seed 0
    python -m tests.autograder.class_run.kills 40 --seed 7

Each round grades a small class while processes are killed, and grades it again until a run ends
well. Then the gradebook must be equal, row by row, to that of an undisturbed run, and no process of
the round may be left.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.autograder.gradebook.gradebook_contents import gradebook_contents
from tests.autograder.small_course import HOMEWORK, write_class, write_course

ROOT = Path(__file__).parents[3]
VICTIMS = {
    "sandbox or student's process": "course_worker.zygote",
    "judge or its server": "judge_server",
    "class run": "class_run.kills",
}
"""Processes to kill, by what their command contains."""
ON_A_CLUSTER = VICTIMS | {"Dask worker or scheduler": "distributed.cli"}
KILLS_A_RUN = 3
MOST_RUNS = 5  # the undisturbed one included
_SECONDS = 120


def grade(folder: Path, scheduler: str) -> None:
    """Grade the class beside ``folder``, and write into it, as the command line does.

    ``scheduler`` is a Dask scheduler's file with its address; empty to grade without a cluster.
    """
    from autograder.class_run.options import GradingOptions
    from autograder.class_run.result_store import ResultStore
    from autograder.class_run.run import grade_class
    from autograder.cluster.grading import grade_on_cluster
    from autograder.cluster.scheduler import Cluster
    from autograder.gradebook.writer import GradebookWriter
    from autograder.homework_source.source import load_homework
    from autograder.judging.check_limits import TimeLimits

    course, submissions = folder.parent / "course", folder.parent / "class"
    homework = load_homework(HOMEWORK, course)
    limits = TimeLimits(check_seconds=20.0, submission_seconds=60.0)
    options = GradingOptions(limits=limits, workers=2)
    cluster = None
    if scheduler:
        address = json.loads(Path(scheduler).read_text())["address"]
        cluster = Cluster(scheduler=address, trusted_network=True)
    results = grade_class(
        homework,
        submissions,
        options,
        root=course,
        store=ResultStore(folder / "results"),
        elsewhere=partial(grade_on_cluster, cluster) if cluster else None,
    )
    with GradebookWriter(submissions, homework, course_folder=folder / "nbgrader") as recorder:
        for result in results:
            recorder.record(result)
    lost = [result.student for result in results if result.interrupted]
    if lost:
        sys.exit(f"to be run again: {', '.join(lost)}")


class Round:
    """Grades a class while its processes are killed, until a run ends well.

    Args:
        folder: The folder for results and gradebook, which is made.
        generator: Draws the processes to kill and the moments.
        victims: ``VICTIMS``, or ``ON_A_CLUSTER``, for which each run starts a cluster: kinds of
            processes by name, each with a piece of its command line.

    Attributes:
        killed: How often each kind of process was killed.
        runs: Number of runs.
    """

    def __init__(self, folder: Path, generator: random.Random, victims: dict[str, str]) -> None:
        self._folder = folder
        self._random = generator
        self._victims = victims
        self._token = f"kills-{os.getpid()}-{folder.name}"
        self._next: list[str] = []
        self.killed: collections.Counter[str] = collections.Counter()
        self.runs = 0

    def play(self, kills: int) -> None:
        """Grade until a run ends well and no process is left; kill at most ``kills`` processes."""
        self._folder.mkdir()
        ended_well = False
        while not ended_well:
            self.runs += 1
            assert self.runs <= MOST_RUNS, f"no run of {self._folder} ended well:\n{self._said()}"
            left = min(kills - self.killed.total(), KILLS_A_RUN) if self.runs < MOST_RUNS else 0
            ended_well = self._run(left)
        self._wait_until_all_are_gone()

    def _run(self, kills: int) -> bool:
        with contextlib.ExitStack() as stack:
            on_a_cluster = self._victims == ON_A_CLUSTER
            scheduler = stack.enter_context(self._cluster()) if on_a_cluster else ""
            program = "tests.autograder.class_run.kills"
            options = ("--grade", str(self._folder), "--scheduler", scheduler)
            run = self._start("-m", program, *options)
            stack.callback(run.kill)  # of one that has ended, nothing
            graded = self._graded()
            for _ in range(kills):
                graded += self._random.randrange(4)
                if not self._wait_for(lambda graded=graded: self._graded() >= graded, run):
                    break
                time.sleep(self._random.uniform(0, 0.3))
                self._kill(run)
            return run.wait(timeout=_SECONDS) == 0

    def _said(self) -> str:
        """Return the last lines that the round's processes printed."""
        lines = (self._folder / "log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-20:])

    @contextlib.contextmanager
    def _cluster(self) -> Iterator[str]:
        """Run a Dask scheduler and two workers; yield the path of the scheduler's file."""
        address_file = self._folder / f"scheduler-{self.runs}.json"
        where = ("--scheduler-file", str(address_file))
        started = [
            self._start("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port",
                        "0", "--no-dashboard", *where)
        ]  # fmt: skip
        try:
            started += [
                self._start("-m", "distributed.cli.dask_worker", *where, "--nthreads", "1",
                            "--death-timeout", "5", "--no-dashboard")
                for _ in range(2)
            ]  # fmt: skip
            self._wait_for(address_file.exists, started[0])
            yield str(address_file)
        finally:
            for process in started:
                process.terminate()
            for process in started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=15)
                process.kill()
                process.wait()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT, env=os.environ | {"KILLS_ROUND": self._token}, stdout=log, stderr=log,
            )  # fmt: skip

    def _graded(self) -> int:
        return len(list((self._folder / "results").glob("*.json")))

    def _wait_for(self, condition, run: subprocess.Popen[bytes]) -> bool:
        end = time.monotonic() + _SECONDS
        while not condition():
            if run.poll() is not None or time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def _kill(self, run: subprocess.Popen[bytes]) -> None:
        """Kill a process of a random kind; each kind is drawn once before one is drawn again.

        Nothing is killed if ``run`` ends before there is such a process.
        """
        self._next = self._next or self._random.sample(list(self._victims), len(self._victims))
        victim = self._next.pop()
        found: list[int] = []
        self._wait_for(lambda: found.extend(self._find(victim)) or found, run)
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(found), signal.SIGKILL)
                self.killed[victim] += 1

    def _find(self, victim: str) -> list[int]:
        return sorted(pid for pid, command in self._processes() if self._victims[victim] in command)

    def _processes(self) -> Iterator[tuple[int, str]]:
        """Yield pid and command of each live process that was started in this round."""
        known = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                ours = self._token.encode() in (folder / "environ").read_bytes()
                known[int(folder.name)] = (parent, command, ours)
        for pid, (_, command, ours) in known.items():
            above = pid  # a sandbox has an environment of its own, but descends from one of ours
            while not ours and above in known:
                above = known[above][0]
                ours = above in known and known[above][2]
            if ours and command:
                yield pid, command

    def _wait_until_all_are_gone(self) -> None:
        end = time.monotonic() + 20
        while left := list(self._processes()):
            assert time.monotonic() < end, f"left over: {left}"
            time.sleep(0.1)


def main() -> None:
    """Kill the requested number of processes, and print how often each kind was killed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.autograder.class_run.kills", description=__doc__.splitlines()[0]
    )
    parser.add_argument("kills", type=int, nargs="?", default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--submissions", type=int, default=30)
    parser.add_argument("--grade", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--scheduler", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.grade:
        grade(arguments.grade, arguments.scheduler)
        return
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        killed, runs = kill(
            Path(folder), arguments.kills, seed=arguments.seed, submissions=arguments.submissions
        )
    print(f"{killed.total()} kills in {runs} runs: {dict(killed)}; every gradebook as undisturbed")


def kill(
    folder: Path, kills: int, *, seed: int, submissions: int
) -> tuple[collections.Counter[str], int]:
    """Kill ``kills`` processes in as many rounds as needed; check the gradebook after each round.

    Returns:
        How often each kind of process was killed, and the number of runs.
    """
    write_course(folder / "course")
    write_class(folder / "course", folder / "class", submissions)
    generator = random.Random(seed)
    undisturbed = Round(folder / "undisturbed", generator, VICTIMS)
    undisturbed.play(0)
    expected = _contents(folder / "undisturbed")
    killed: collections.Counter[str] = collections.Counter()
    runs = 0
    for number in range(10 * kills):
        if killed.total() >= kills:
            return killed, runs
        victims = ON_A_CLUSTER if number % 3 == 2 else VICTIMS
        game = Round(folder / f"round-{number}", generator, victims)
        game.play(min(kills - killed.total(), 2 * KILLS_A_RUN))
        assert _contents(folder / f"round-{number}") == expected, f"round {number} differs"
        shutil.rmtree(folder / f"round-{number}")
        killed += game.killed
        runs += game.runs
    raise AssertionError(f"only {killed.total()} kills hit anything")


def _contents(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    return gradebook_contents(f"sqlite:///{folder}/nbgrader/gradebook.db")


if __name__ == "__main__":
    main()
