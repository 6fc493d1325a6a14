"""Do a run's files say what was done, and is a run of another kind kept from going on in it?"""

import json
from dataclasses import dataclass

import pytest
import torch

from course_lib.recipes.run_record import (
    RunError,
    environment,
    history_data,
    load_recipe,
    save_recipe,
    with_settings,
    write_json,
)
from course_lib.training.loop import TrainingHistory


@dataclass(frozen=True, kw_only=True)
class Recipe:
    steps: int = 3
    rate: float = 0.5
    name: str = "one"
    compiled: bool = False

    def double(self):
        return 2 * self.steps


def test_settings_change_values_of_each_type():
    changed = with_settings(Recipe(), ["steps=7", "rate=1e-3", "name=a=b", "compiled=true"])
    assert changed == Recipe(steps=7, rate=1e-3, name="a=b", compiled=True)
    assert with_settings(changed, ["compiled=false"]).compiled is False


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("stepz=1", "must name one of steps, rate, name, compiled, got 'stepz=1'"),
        ("double=1", "must name one of steps, rate, name, compiled, got 'double=1'"),
        ("__doc__=x", "must name one of steps, rate, name, compiled, got '__doc__=x'"),
        ("steps=many", "steps must be of type int, got 'many'"),
        ("compiled=yes", "compiled must be of type bool, got 'yes'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        with_settings(Recipe(), [setting])


def test_a_folder_holds_one_recipe(tmp_path):
    folder = tmp_path / "run"
    save_recipe(folder, Recipe(), seed=1)
    save_recipe(folder, Recipe(), seed=1)
    assert json.loads((folder / "recipe.json").read_text())["steps"] == 3
    with pytest.raises(RunError, match="holds a run with steps=3, this one has 4: name another"):
        save_recipe(folder, Recipe(steps=4), seed=1)
    with pytest.raises(RunError, match="holds a run with seed=1, this one has 2"):
        save_recipe(folder, Recipe(), seed=2)


def test_a_recipe_is_read_as_it_was_noted(tmp_path):
    save_recipe(tmp_path, Recipe(steps=4), seed=1, text="abc")
    assert load_recipe(tmp_path, Recipe, "seed", "text") == (
        Recipe(steps=4), {"seed": 1, "text": "abc"}
    )  # fmt: skip
    with pytest.raises(RunError, match=r"recipe\.json is no recipe: .*'text'"):
        load_recipe(tmp_path, Recipe, "seed")
    (tmp_path / "recipe.json").write_text('{"steps": 4}')
    with pytest.raises(RunError, match=r"recipe\.json is no recipe: 'seed'"):
        load_recipe(tmp_path, Recipe, "seed")
    (tmp_path / "recipe.json").write_text("{")
    for action in (lambda: load_recipe(tmp_path, Recipe), lambda: save_recipe(tmp_path, Recipe())):
        with pytest.raises(RunError, match=r"recipe\.json is no JSON"):
            action()
    with pytest.raises(RunError, match=r"no run in .*none: recipe\.json: No such file"):
        load_recipe(tmp_path / "none", Recipe)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "data.json"
    write_json(path, {"ä": 1})
    with pytest.raises(TypeError):
        write_json(path, {"no": object()})
    assert json.loads(path.read_text(encoding="utf-8")) == {"ä": 1}
    assert list(path.parent.iterdir()) == [path]


def test_numbers_that_are_none_are_written_as_null(tmp_path):
    norms = (0.5, float("inf"), -float("inf"), float("nan"))
    history = TrainingHistory(losses=(1.0,) * 4, gradient_norms=norms, seconds=1.0, cpu_seconds=1.0)
    write_json(tmp_path / "history.json", history_data(history))

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    text = (tmp_path / "history.json").read_text()
    assert json.loads(text, parse_constant=refuse)["gradient_norms"] == [0.5, None, None, None]


def test_circumstances_name_device_and_versions():
    found = environment(torch.device("cpu"))
    assert found["device"].startswith("cpu: ")
    assert found["torch"] == torch.__version__
    assert "pytest" in found["command"] or "python" in found["command"]
