"""Times single submissions: with a command for each, and with ``grade --watch``.

    python -m benchmarks.watch --submissions 5

Prints the seconds from the arrival of a right notebook, which is renamed into its place, to its
result's file, and the seconds before its grading begins; for a command of its own they include its
start. Also prints processor time: of a command with all its processes, and of importing PyTorch
once, as two of these do.
"""

import argparse
import contextlib
import ctypes
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from autograder.homework_source.homework import resolve_homework
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.source import load_homework

ROOT = Path(__file__).parents[1]
_PR_SET_CHILD_SUBREAPER = 36


def start(homework: str, folder: Path, *options: str) -> "subprocess.Popen[str]":
    """Start ``autograder grade`` with options on the class in ``folder / "class"``."""
    where = ["--submissions", str(folder / "class"), "--out", str(folder / "out")]
    return subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", homework, *where, *options],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


@contextlib.contextmanager
def watching(homework: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run ``grade --watch`` on an empty class in a folder during the block; yield its process."""
    (folder / "class").mkdir(parents=True)
    process = start(homework, folder, "--watch")
    assert process.stdout is not None
    process.stdout.readline()  # it is ready
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def hand_in(homework: str, folder: Path, student: str) -> Path:
    """Add a student's right notebook to the class; return the path where its result will be."""
    path = folder / "class" / student / homework / f"{homework}.ipynb"
    path.parent.mkdir(parents=True)
    whole = folder / f"{student}.ipynb"
    whole.write_text(instructors_notebook(load_homework(homework, ROOT)))
    whole.replace(path)
    return folder / "out" / "results" / homework / f"{student}.json"


def wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until a file exists; exit if the grading ``process`` fails meanwhile."""
    while not path.exists():
        if process.poll():
            sys.exit("grading failed")
        time.sleep(0.01)


def wait_for_result(
    path: Path, process: "subprocess.Popen[str]", began: float
) -> tuple[float, float]:
    """Wait for a result's file; return the seconds until it exists and until grading began.

    Both count from ``began``, a value of ``time.perf_counter()``.
    """
    wait_for(path, process)
    whole = time.perf_counter() - began
    return whole, whole - json.loads(path.read_text())["result"]["seconds"]


def processor_seconds() -> float:
    """Return the processor time (seconds) of all ended child processes and their descendants."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_commands(
    homework: str, folder: Path, count: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Grade ``count`` submissions, each with a command of its own.

    Returns:
        For each submission the seconds until its result and until its grading began, and the
        processor seconds of its command.
    """
    taken, used = [], []
    for number in range(count):
        result = hand_in(homework, folder / f"one-{number}", "student")
        began, before = time.perf_counter(), processor_seconds()
        process = start(homework, folder / f"one-{number}")
        taken.append(wait_for_result(result, process, began))
        process.communicate()
        wait_for_orphans()
        used.append(processor_seconds() - before)
    return taken, used


def wait_for_orphans() -> None:
    """Wait for the orphaned children of an ended command, which this process inherits."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def time_import() -> float:
    """Return the processor seconds of a Python process that imports PyTorch."""
    before = processor_seconds()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return processor_seconds() - before


def time_watch(homework: str, folder: Path, count: int) -> list[tuple[float, float]]:
    """Grade ``count`` submissions with ``grade --watch``.

    Each arrives when all files of the one before are written. Returns the seconds until each
    submission's result, and until its grading began.
    """
    taken = []
    with watching(homework, folder) as process:
        assert process.stdout is not None
        for number in range(count):
            result = hand_in(homework, folder, f"student-{number}")
            taken.append(wait_for_result(result, process, time.perf_counter()))
            page = folder / "out" / "feedback" / f"student-{number}" / f"{homework}.html"
            wait_for(page, process)
    return taken


def main() -> None:
    """Time a command per submission and ``grade --watch``, and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.watch", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--submissions", type=int, default=5, help="how many, one after the other")
    parser.add_argument("--homework", default="hw01")
    options = parser.parse_args()
    homework = resolve_homework(options.homework, ROOT)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        alone, used = time_commands(homework, Path(folder), options.submissions)
        rows = {
            "a command each": alone,
            "one that watches": time_watch(homework, Path(folder) / "watch", options.submissions),
        }
    print(f"{options.submissions} of {homework}, {os.cpu_count()} cores, {platform.machine()}, ")
    print(f"load {os.getloadavg()[0]:.0f}\n")
    print("| seconds | to the result, median | least | most | before grading begins, median |")
    print("|---|---:|---:|---:|---:|")
    for name, taken in rows.items():
        whole, before = zip(*taken, strict=True)
        figures = (statistics.median(whole), min(whole), max(whole), statistics.median(before))
        print(f"| {name} | {' | '.join(f'{seconds:.1f}' for seconds in figures)} |")
    imports = statistics.median(time_import() for _ in range(options.submissions))
    print(f"\nOf the processor, in seconds: a command {statistics.median(used):.1f}, ", end="")
    print(f"importing PyTorch {imports:.1f}")


if __name__ == "__main__":
    main()
