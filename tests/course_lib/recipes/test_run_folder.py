"""A run's folder keeps its recipe, records and weights, and rejects those of another run."""

import dataclasses
import json
from dataclasses import dataclass

import pytest
import torch

from course_lib.models.bert import BertConfig
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.recipes import translation_model
from course_lib.recipes.run_folder import (
    RunError,
    RunFolder,
    environment,
    load_weights,
    read_weights,
    require,
    save_weights,
    with_settings,
    write_json,
)
from course_lib.recipes.translation_model import TranslationRecipe, build_model


@dataclass(frozen=True, kw_only=True)
class Model:
    width: int = 8


@dataclass(frozen=True, kw_only=True)
class Recipe:
    model: Model = Model()
    steps: int = 3
    rate: float = 0.5
    name: str = "one"
    compiled: bool = False


def test_settings_change_values_of_each_type():
    changed = with_settings(Recipe(), ["steps=7", "rate=1e-3", "name=a=b", "compiled=true"])
    assert changed == Recipe(steps=7, rate=1e-3, name="a=b", compiled=True)
    assert with_settings(changed, ["compiled=false"]).compiled is False
    assert with_settings(Recipe(), ["width=9", "steps=7"]) == Recipe(model=Model(width=9), steps=7)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("__doc__=x", "must name one of steps, rate, name, compiled, width, got '__doc__=x'"),
        ("steps=many", "steps must be of type int, got 'many'"),
        ("compiled=yes", "compiled must be of type bool, got 'yes'"),
    ],
)
def test_invalid_setting_is_rejected(setting, message):
    with pytest.raises(ValueError, match=message):
        with_settings(Recipe(), [setting])


def test_folder_holds_one_recipe(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.save_recipe(Recipe(), seed=1)
    folder.save_recipe(Recipe(), seed=1)
    assert json.loads((folder.path / "recipe.json").read_text())["model"] == {"width": 8}
    with pytest.raises(RunError, match="holds a run with steps=3, this one has 4: name another"):
        folder.save_recipe(Recipe(steps=4), seed=1)
    with pytest.raises(RunError, match="holds a run with width=8, this one has 9"):
        folder.save_recipe(Recipe(model=Model(width=9)), seed=1)
    with pytest.raises(RunError, match="holds a run with seed=1, this one has 2"):
        folder.save_recipe(Recipe(), seed=2)


def test_recipe_is_read_as_saved(tmp_path):
    folder, recipe = RunFolder(tmp_path), Recipe(steps=4, model=Model(width=9))
    folder.save_recipe(recipe, seed=1, text="abc")
    assert folder.load_recipe(Recipe, "seed", "text") == (recipe, {"seed": 1, "text": "abc"})
    with pytest.raises(RunError, match=r"recipe\.json is no recipe: .*'text'"):
        folder.load_recipe(Recipe, "seed")
    (tmp_path / "recipe.json").write_text('{"steps": 4}')
    with pytest.raises(RunError, match=r"recipe\.json is no recipe: 'seed'"):
        folder.load_recipe(Recipe, "seed")
    (tmp_path / "recipe.json").write_text("{")
    for action in (lambda: folder.load_recipe(Recipe), lambda: folder.save_recipe(Recipe())):
        with pytest.raises(RunError, match=r"recipe\.json is no JSON"):
            action()
    with pytest.raises(RunError, match=r"no run in .*none: recipe\.json: No such file"):
        RunFolder(tmp_path / "none").load_recipe(Recipe)


def test_json_is_written_atomically_with_null_for_infinite_numbers(tmp_path):
    path = tmp_path / "new" / "data.json"
    write_json(path, {"ä": [0.5, float("inf"), -float("inf"), float("nan")]})
    with pytest.raises(TypeError):
        write_json(path, {"no": object()})
    assert path.read_text("utf-8").startswith('{\n "ä": [\n  0.5,\n  null,\n  null,\n  null\n')
    assert list(path.parent.iterdir()) == [path]


def test_history_has_means_over_equal_numbers_of_steps(tmp_path):
    losses = tuple(range(900))  # at most 400 points, so means over 3 steps
    progress = {"losses": losses, "gradient_norms": losses, "evaluations": ((5, 0.1),)}
    history = RunFolder(tmp_path).write_history(progress)
    assert json.loads((tmp_path / "history.json").read_text()) == history
    assert (history["steps"], history["steps_in_a_mean"]) == (900, 3)
    assert history["training_loss"] == history["gradient_norm"] == list(range(1, 900, 3))
    assert history["validation_loss"] == [[5, 0.1]]


def test_missing_packages_are_named_with_their_command():
    require("torch")
    with pytest.raises(SystemExit, match=r"needs no_such_package\. Install with:\n    pip install"):
        require("torch", "no_such_package")


def test_environment_has_device_and_versions():
    found = environment(torch.device("cpu"))
    assert found["device"].startswith("cpu: ")
    assert found["torch"] == torch.__version__


# ---- weights ----

SIZES = {"d_model": 16, "num_heads": 2, "d_ff": 16, "num_layers": 1}
TRANSLATOR = dataclasses.replace(
    translation_model.SIZES,
    d_model=16, num_heads=2, d_ff=16, num_encoder_layers=1, num_decoder_layers=1,
)  # fmt: skip
MODELS = {
    "transformer": lambda vocab: build_model(TranslationRecipe(model=TRANSLATOR), vocab),
    "bert": lambda vocab: BertForPreTraining(BertConfig(**SIZES, vocab_size=vocab, max_length=9)),
}


@pytest.fixture(params=MODELS)
def build(request):
    """A function from vocabulary size to a model in which layers share weights."""
    torch.manual_seed(0)
    return MODELS[request.param]


def test_weights_round_trip_with_shared_ones_once(build, tmp_path):
    model, other = build(30), build(30)
    save_weights(model, tmp_path / "new" / "model.safetensors")
    weights = read_weights(tmp_path / "new" / "model.safetensors")
    own = {parameter.data_ptr() for parameter in model.parameters()}
    assert len({name for name in weights if name in dict(model.named_parameters())}) == len(own)
    load_weights(other, weights)
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
    assert len({parameter.data_ptr() for parameter in other.parameters()}) == len(own)


def test_weights_of_another_model_are_rejected(build, tmp_path):
    save_weights(build(30), tmp_path / "model.safetensors")
    weights = read_weights(tmp_path / "model.safetensors")
    own = build(30)
    before = {name: tensor.clone() for name, tensor in own.state_dict().items()}
    for wrong, given in (
        (build(31), weights),
        (own, dict(list(weights.items())[1:])),
        (own, weights | {"more": torch.zeros(1)}),
    ):
        with pytest.raises(RunError, match="of another model"):
            load_weights(wrong, given)
    assert all(torch.equal(tensor, before[name]) for name, tensor in own.state_dict().items())


def test_weights_have_default_file_mode(tmp_path):
    path = tmp_path / "model.safetensors"
    save_weights(torch.nn.Linear(1, 1), path)
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_missing_or_malformed_weights_are_reported(tmp_path):
    path = tmp_path / "model.safetensors"
    with pytest.raises(RunError, match=r"model\.safetensors is not there: train first"):
        read_weights(path)
    path.write_bytes(b"none")
    with pytest.raises(RunError, match=r"model\.safetensors holds no weights"):
        read_weights(path)


class Views(torch.nn.Module):
    """A module whose buffers are a table, the same tensor again, and three views into it."""

    def __init__(self, fill):
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).view(3, 4) + fill)
        self.register_buffer("again", self.table)
        self.register_buffer("first_row", self.table[0])
        self.register_buffer("turned", self.table.T)
        self.register_buffer("nothing", self.table[:0])


@pytest.mark.parametrize("joined", [True, False])
def test_overlapping_views_are_saved(tmp_path, joined):
    model, other = Views(0.0), Views(99.0)
    if not joined:  # buffers of the same shapes that share no memory
        for name in ("first_row", "turned", "nothing"):
            setattr(other, name, getattr(other, name).clone())
    save_weights(model, tmp_path / "model.safetensors")
    weights = read_weights(tmp_path / "model.safetensors")
    assert "again" not in weights
    load_weights(other, weights)
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
