"""Measure course_lib beside its peers, on one thread.

    python -m benchmarks              # every topic; writes the tables of benchmarks/README.md
    python -m benchmarks generation   # one topic; writes nothing

All topics take about five minutes on an idle processor, and 4 GB of memory. Nothing is downloaded:
weights and texts are random. A GPU is measured too if there is one. The judge and large classes
have commands of their own, see their --help:

    python -m benchmarks.language_model  # SmolLM2 and MiniLM; needs their weights
    python -m benchmarks.autograder      # the judge beside nbgrader; needs bubblewrap
    python -m benchmarks.endless         # a class with endless functions; needs bubblewrap
    python -m benchmarks.scale           # the time for 100,000 submissions; needs bubblewrap
    python -m benchmarks.class_of_1000   # does anything grow or stay behind? needs bubblewrap
    python -m benchmarks.gpu             # training and generation on a CUDA device
    python -m benchmarks.long_trainings  # experiments that are too long for a page of the book
"""

import argparse
import datetime
import importlib
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from benchmarks.measure import Comparison, table

FOLDER = Path(__file__).parent
BEGIN, END = "<!-- figures: written by python -m benchmarks -->", "<!-- end of figures -->"


def topics() -> list[str]:
    """Return the names of this folder's files that define ``rows()``, sorted."""
    return sorted(
        path.stem for path in FOLDER.glob("*.py") if "\ndef rows()" in path.read_text("utf-8")
    )


def machine() -> str:
    """Return a line of text: today's date, the processor, the GPU, and versions of packages."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = named[0].partition(":")[2].strip() if named else processor
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU at hand"
    packages = []
    for name in ("torch", "transformers", "tokenizers", "sacrebleu"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"no {name}")
    return (
        f"{datetime.date.today():%-d %B %Y}. {processor}, {os.cpu_count()} processors, one thread; "
        f"{gpu}. Python {platform.python_version()}, {', '.join(packages)}."
    )


def write_readme(found: dict[str, list[Comparison]]) -> None:
    """Replace the section between the README's markers by a table for each topic.

    ``found`` maps the name of each topic to the rows of its table.
    """
    sections = [f"### {topic.replace('_', ' ')}\n\n{table(rows)}" for topic, rows in found.items()]
    replace_section(BEGIN, END, "\n\n".join([machine(), *sections]))


def replace_section(begin: str, end: str, text: str) -> None:
    """Replace the text between two lines of benchmarks/README.md; exit if one is missing."""
    path = FOLDER / "README.md"
    before, found_begin, rest = path.read_text("utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        sys.exit(f"{path} needs the lines {begin!r} and {end!r}")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", "utf-8")


def main() -> None:
    """Measure the requested topics; write the README if all topics were measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topics", nargs="*", help=f"from: {', '.join(topics())}; all if none")
    chosen = parser.parse_args().topics
    if unknown := set(chosen) - set(topics()):
        parser.error(f"no such topic: {', '.join(sorted(unknown))}; there are {topics()}")
    torch.set_num_threads(1)  # two threads on a shared machine wait for each other
    found = {}
    for topic in chosen or topics():
        print(f"\n{topic}", flush=True)
        found[topic] = importlib.import_module(f"benchmarks.{topic}").rows()
        print(table(found[topic]), flush=True)
    if not chosen:
        write_readme(found)


if __name__ == "__main__":
    main()
