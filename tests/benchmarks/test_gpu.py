"""The GPU benchmark: a dry run on the CPU, and the error without a GPU."""

import json

import pytest
import torch

from benchmarks import gpu


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: it would be measured")
def test_missing_gpu_is_reported():
    with pytest.raises(SystemExit, match=r"no CUDA device at hand(.|\n)*--dry-run"):
        gpu.main([])


@pytest.mark.proof
def test_dry_run_measures_everything_and_is_marked(tmp_path, capsys):
    path = gpu.main(["--dry-run", "--out", str(tmp_path)])
    results = json.loads(path.read_text())
    assert path.name.endswith("-dry-run.json")
    assert results["dry_run"] is True
    assert results["peak_teraflops"] > 0
    assert [row["what"].split(" ")[0] for row in results["training"]] == ["BERT-Base's", "GPT-2"]
    for row in (*results["training"], *results["generation"]):
        assert row["tokens_a_second"] == pytest.approx(row["ratio"] * row["peer_tokens_a_second"])
    assert all(0 < row["share_of_peak"] < 1 for row in results["training"])
    assert [row["what"].split(",")[1] for row in results["generation"]] == [" eager", " compiled"]
    assert len(results["attention"]) == 4
    assert str(path) in capsys.readouterr().out
