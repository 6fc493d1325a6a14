"""Measures training, generation and attention on a GPU, beside ``transformers``.

    python -m benchmarks.gpu             # on a CUDA device; writes benchmarks/runs/gpu/
    python -m benchmarks.gpu --dry-run   # on the CPU, at toy sizes: does every line run?

Models compute in bfloat16 (autocast; weights and updates in float32) and are compiled. The share of
the peak is relative to a large matrix product on the same card in the same run. Operations are
counted as 6 per matrix weight and token, and 12 per layer, position and entry of a token's vector,
for forward and backward without recomputation (Chowdhery et al., 2022, appendix B).
"""

import argparse
import dataclasses
import datetime
import json
import platform
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu_inference import attention_row, generation_rows
from benchmarks.gpu_models import TOY, Bench, Sizes
from benchmarks.gpu_training import bert_pair, gpt_pair, peak_operations, training_row

FOLDER = Path(__file__).parent / "runs" / "gpu"
NO_GPU = (
    "There is no CUDA device at hand, so there is nothing to measure.\n"
    "    python -m benchmarks.gpu --dry-run    runs every line on the CPU, at toy sizes"
)


PARTS = ("training", "generation", "attention")


def measure(bench: Bench, parts: Collection[str] = PARTS) -> Iterator[dict[str, Any]]:
    """Measure some of ``PARTS``; after each row yield the rows so far, by part.

    With training, the dictionary also has the card's ``peak_teraflops``.
    """
    results: dict[str, Any] = {part: [] for part in PARTS}
    if "training" in parts:
        peak = peak_operations(bench)
        results = {"peak_teraflops": peak / 1e12, **results}
        for make_pair in (bert_pair, gpt_pair):
            ours, theirs, batch, length = make_pair(bench)
            row = training_row(bench, ours, theirs, batch * length, length, peak)
            results["training"].append(row)
            yield results
    if "generation" in parts:
        for batch in bench.sizes.generation_batches:
            for row in generation_rows(bench, batch):
                results["generation"].append(row)
                yield results
    if "attention" in parts:
        for length in bench.sizes.lengths:
            for way in ("formula", "fused"):
                results["attention"].append(attention_row(bench, length, way))
                yield results


def main(arguments: list[str] | None = None) -> Path:
    """Measure and print each row, and write all rows to a JSON file, whose path is returned.

    The file is named by the date, the card and, unless all are measured, the parts.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dry-run", action="store_true", help="on the CPU, at toy sizes")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the results")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="no others")
    options = parser.parse_args(arguments)
    if not options.dry_run and not torch.cuda.is_available():
        raise SystemExit(NO_GPU)
    if options.dry_run:
        # This backend traces the graph and runs it without compiling.
        bench, card = Bench(device="cpu", sizes=TOY, backend="aot_eager"), "dry-run"
    else:
        bench = Bench(device="cuda", sizes=Sizes(), backend="inductor")
        card = torch.cuda.get_device_name()
    torch.manual_seed(0)
    now = datetime.datetime.now(datetime.UTC)
    about = {
        "date": now.isoformat(timespec="seconds"),
        "card": card,
        "dry_run": options.dry_run,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
        "sizes": dataclasses.asdict(bench.sizes),
    }
    parts = [part for part in PARTS if part in options.parts]
    named = [] if parts == [*PARTS] else parts
    name = "-".join([now.strftime("%Y-%m-%d"), *card.lower().split(), *named])
    path: Path = options.out / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    for results in measure(bench, parts):  # a stopped run keeps its results so far
        print(json.dumps(next(results[part][-1] for part in reversed(PARTS) if results[part])))
        path.write_text(json.dumps(about | results, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path}")
    return path


if __name__ == "__main__":
    main()
