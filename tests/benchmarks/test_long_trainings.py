"""The long experiments run, and write complete records."""

import json

import pytest

from benchmarks import long_trainings


@pytest.fixture
def short(monkeypatch):
    """Shorten every training to two updates."""
    real = long_trainings.TrainingConfig

    def two_updates(**settings):
        return real(**settings | {"steps": 2})

    monkeypatch.setattr(long_trainings, "TrainingConfig", two_updates)


@pytest.mark.parametrize("experiment", sorted(long_trainings.EXPERIMENTS))
def test_experiment_writes_its_record(short, tmp_path, experiment):
    path = long_trainings.main([experiment, "--out", str(tmp_path)])
    written = json.loads(path.read_text(encoding="utf-8"))
    kept = json.loads((long_trainings.FOLDER / path.name).read_text(encoding="utf-8"))
    assert written["command"] == kept["command"]
    assert written["command"].endswith(f"benchmarks.long_trainings {experiment}")
    assert [sorted(row) for row in written["figures"]] == [sorted(row) for row in kept["figures"]]
    unchanged = ("stacking", "layers", "context", "updates")
    for new, old in zip(written["figures"], kept["figures"], strict=True):
        assert [new.get(name) for name in unchanged] == [old.get(name) for name in unchanged]
        for name in {"losses", "shares"} & set(new):
            assert len(new[name]) == len(old[name]) == len(long_trainings.SEEDS)
