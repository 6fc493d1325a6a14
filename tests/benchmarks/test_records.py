"""The figures of whole runs in the READMEs equal the records in ``benchmarks/runs``."""

import json
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RUNS = ROOT / "benchmarks" / "runs"
TEST_SET = "test_2016_flickr"


@pytest.fixture(scope="module")
def figures() -> str:
    """The text of the benchmarks' README."""
    return (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def summary(run: str) -> dict:
    """Return the record of a translation run, given the name of its folder."""
    return json.loads((RUNS / "translation" / run / "summary.json").read_text())


def bleu(run: str, scores: str = TEST_SET, case: str = "cased") -> float:
    """Return the BLEU of a translation run; ``scores`` and ``case`` are keys of its summary."""
    return summary(run)["scores"][scores][case]["bleu"]


def validation_loss(run: str) -> dict[int, float]:
    """Return a translation run's validation losses, by the number of the update."""
    history = json.loads((RUNS / "translation" / run / "history.json").read_text())
    return dict(history["validation_loss"])


def rows(text: str, heading: str) -> list[list[str]]:
    """Return the cells of a Markdown table's rows, without the signs for bold text.

    The table is the one in ``text`` whose first column's heading begins with ``heading``.
    """
    (found,) = re.findall(rf"^\| *{re.escape(heading)}.*\n\|[-:| ]+\n((?:\|.*\n)+)", text, re.M)
    return [
        [cell.strip().replace("**", "") for cell in line.strip("|\n ").split("|")]
        for line in found.splitlines()
    ]


def test_translation_figures_equal_each_seeds_record(figures):
    seen = rows(figures, "seed | BLEU cased")
    runs = [summary(f"cpu-seed{row[0]}") for row in seen[:-1]]
    assert len(runs) == 3
    for row, run in zip(seen, runs, strict=False):
        scores = run["scores"][TEST_SET]
        assert row[1:4] == [
            f"{scores['cased']['bleu']:.2f}",
            f"{scores['lowercased']['bleu']:.2f}",
            f"{run['cpu_seconds']:,.0f}",
        ]
        assert (run["finished"], scores["beam_size"], run["threads"]) == (True, 5, 1)
    assert seen[1][4:] == [
        f"{bleu('cpu-seed2', f'{TEST_SET}, beam 1'):.2f}",
        f"{bleu('cpu-seed2', f'{TEST_SET}, step 6000'):.2f}",
    ]
    expected = [
        [run["scores"][TEST_SET]["cased"]["bleu"] for run in runs],
        [run["scores"][TEST_SET]["lowercased"]["bleu"] for run in runs],
        [run["cpu_seconds"] for run in runs],
    ]
    for cell, values, digits in zip(seen[-1][1:4], expected, (2, 2, 0), strict=True):
        mean, deviation = statistics.mean(values), statistics.stdev(values)
        assert cell == f"{mean:,.{digits}f} ± {deviation:.{digits}f}"


def test_ablation_figures_equal_their_records(figures):
    seen = rows(figures, "| BLEU cased | validation loss")
    runs = ("cpu-seed3", "no-smoothing", "no-dropout")
    for row, run in zip(seen, runs, strict=True):
        scores = summary(run)["scores"][f"{TEST_SET}, step 3000"]
        assert row[1:] == [f"{scores['cased']['bleu']:.2f}", f"{scores['validation_loss']:.2f}"]
    assert f"comes to {bleu('no-dropout'):.2f}" in figures
    assert [summary(run)["finished"] for run in runs] == [True, False, True]


def test_figures_without_warm_up_equal_their_record(figures):
    cold = validation_loss("no-warm-up")
    warm = [validation_loss(f"cpu-seed{seed}") for seed in (1, 2, 3)]
    seen = rows(figures, "update | validation loss without a warm-up")
    for row, (step, loss) in zip(seen, cold.items(), strict=True):
        with_one = [of_seed[step] for of_seed in warm]
        assert row == [f"{step:,}", f"{loss:.2f}", f"{min(with_one):.2f} to {max(with_one):.2f}"]
    told = (
        f"{summary('no-warm-up')['cpu_seconds']:,.0f} CPU seconds",
        f"{bleu('no-warm-up'):.2f} BLEU",
    )
    assert all(words in figures for words in told)


def test_figures_of_larger_presets_equal_their_records(figures):
    seen = rows(figures, "| updates | BLEU cased")
    for row, run in zip(seen, ("full", "gru"), strict=True):
        found = summary(run)
        assert row[0].startswith(f"`{run}`")
        assert row[1].startswith(f"{found['steps_done']:,} of ")
        assert row[2:4] == [f"{bleu(run):.2f}", f"{bleu(run, case='lowercased'):.2f}"]
        assert row[5] == f"{found['cpu_seconds']:,.0f}"


def test_language_model_figures_equal_their_record(figures):
    run = json.loads((RUNS / "language-modelling" / "tiny-shakespeare-cpu.json").read_text())
    words = f"reached {run['validation_loss_nats']:.3f} nats on the validation text in "
    assert f"{words}{run['cpu_seconds']:.0f} CPU seconds" in " ".join(figures.split())


def test_bert_figures_equal_their_record(figures):
    run = json.loads((RUNS / "pretraining" / "small-bert-cpu.json").read_text())
    tasks = run["tasks"]
    expected = [
        tasks["banking77"]["accuracy"],
        tasks["banking77, 10 of each intent"]["accuracy"],
        tasks["blimp"]["pair_accuracy"],
        tasks["blimp"]["accuracy"],
    ]
    for row, of_task in zip(rows(figures, "task | pre-trained"), expected, strict=True):
        for cell, kind in zip(row[1:], ("pre-trained", "random", "gain"), strict=True):
            mean, deviation = (100 * of_task[kind][key] for key in ("mean", "deviation"))
            shown = [float(number) for number in cell.split(" ± ")]
            assert shown == pytest.approx([mean, deviation], abs=0.0501), (row, kind)
    before = run["pretraining"]
    for words in (
        f"{before['cpu_seconds']:,.0f} CPU seconds of pre-training",
        f"({100 * before['token_accuracy']:.1f}% of masked tokens",
        f"{100 * before['next_accuracy']:.1f}% of pairs told apart",
        f"{run['finetuning_cpu_seconds']:,.0f} of fine-tuning",
    ):
        assert words in " ".join(figures.split())


def test_readme_quotes_the_measured_speed(figures):
    front = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    (times,) = re.findall(r"\[(\d+) times\]", front)
    judge = rows(figures, "| seconds | seconds a submission")
    assert times == f"{float(judge[-1][4]):.0f}"
    assert f"a class of 40 in {float(judge[-1][1]):.0f} seconds on two cores" in front
    for _, seconds, each, a_minute, ratio in judge:
        total = float(seconds)
        assert float(each) == pytest.approx(total / 40, abs=0.006)
        assert float(a_minute) == pytest.approx(40 * 60 / total, abs=1.5)
        assert float(ratio) == pytest.approx(float(judge[0][1]) / total, rel=0.01)


def test_each_record_names_its_command_and_machine():
    own_tests = (
        "gpu",
        "language-model-in-page",
        "long-trainings",
        "modern-language-model",
        "sentence-vectors",
    )
    records = [
        path
        for path in RUNS.rglob("*.json")
        if path.name not in ("history.json", "analysis.json") and path.parent.name not in own_tests
    ]
    assert len(records) >= 10
    for path in records:
        record = json.loads(path.read_text())
        assert record["command"].startswith("python -m course_lib.recipes."), path
        for field in ("device", "threads", "torch", "python", "date"):
            assert record[field], (path, field)
        assert record.get("cpu_seconds") or record["total_cpu_seconds"], path


def test_records_of_the_language_model_name_their_command_and_peers():
    paths = {path.stem: path for path in (RUNS / "language-model-in-page").glob("*.json")}
    records = {name: json.loads(path.read_text("utf-8")) for name, path in paths.items()}
    assert records.keys() == {"reference", "example"}
    for name, record in records.items():
        assert record["command"].startswith("python -m benchmarks.language_model_in_page "), name
        assert record["command"].endswith(f" --{name}")
        assert record["date"]
    assert {"torch", "transformers", "gguf"} <= records["reference"]["packages"].keys()


def test_gpu_figures_equal_their_records(figures):
    records = [json.loads(path.read_text()) for path in sorted((RUNS / "gpu").glob("*.json"))]
    records.sort(key=lambda record: record["date"])
    for record in records:
        assert (record["dry_run"], record["card"]) == (False, "NVIDIA H200")
        for version in (record["cuda"], record["python"], record["torch"], record["transformers"]):
            assert version in figures
    training, generation, attention = (
        [record for record in records if record[part]][-1]
        for part in ("training", "generation", "attention")
    )
    assert f"{training['peak_teraflops']:.0f} TFLOP/s" in figures
    measured = [*training["training"], *generation["generation"]]
    for row, run in zip(rows(figures, "what | ours, tokens a second"), measured, strict=True):
        shares = [run[side] for side in ("share_of_peak", "peer_share_of_peak") if side in run]
        assert row[1:4] == [
            f"{run['tokens_a_second']:,.0f}",
            f"{run['peer_tokens_a_second']:,.0f}",
            f"{run['ratio']:.2f}",
        ]
        assert [cell for cell in row[4:] if cell] == [f"{share:.0%}" for share in shares]
    pairs = zip(attention["attention"][::2], attention["attention"][1::2], strict=True)
    lengths = rows(figures, "tokens | formula, ms")
    for row, ways in zip(lengths, pairs, strict=True):
        assert [run["what"] for run in ways] == [
            f"causal attention, {way}, {row[0].replace(',', '')} tokens"
            for way in ("formula", "fused")
        ]
        assert row[1:] == [
            *(f"{run['seconds'] * 1000:.2f}" for run in ways),
            *(f"{run['megabytes']:,.0f}" for run in ways),
        ]


def test_figures_of_whole_gpu_runs_equal_their_records(figures):
    words = " ".join(figures.split())
    run = json.loads((RUNS / "translation" / "full-cuda" / "summary.json").read_text())
    cased, lower_cased = (
        run["scores"]["test_2016_flickr"][case]["bleu"] for case in ("cased", "lowercased")
    )
    assert run["finished"]
    card = run["device"].removeprefix("cuda: ")
    assert f"**{cased}** BLEU, cased, and {lower_cased} lower-cased" in words
    assert f"in {run['wall_seconds']:.0f} seconds of an {card}" in words
    path = RUNS / "language-modelling" / "tiny-shakespeare-cuda.json"
    run = json.loads(path.read_text())
    best = f"{run['validation_loss_nats']:.3f} nats after {run['at_step']:,} of {run['steps']:,}"
    assert f"{best} updates" in words
    card = run["device"].removeprefix("cuda: ")
    assert f"{run['wall_seconds']:.0f} seconds of an {card}" in words
