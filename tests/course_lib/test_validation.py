"""Is what makes no sense refused by its name, and everything else let through?"""

import dataclasses
import importlib
import inspect
import math
import pkgutil
from typing import Any, Literal

import pytest
import torch

import course_lib.layers
import course_lib.models
from course_lib.analysis.attention_reader import AttentionReaderConfig
from course_lib.analysis.depth_experiment import DeepReaderConfig
from course_lib.layers.recurrent import FusedRecurrent, Recurrent
from course_lib.models.bert import BertConfig
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.llama import LlamaConfig
from course_lib.models.rnn_lm import RecurrentLanguageModel
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder
from course_lib.models.transformer import TransformerConfig
from course_lib.recipes.language_modelling import PRESETS as LANGUAGE_MODELS
from course_lib.recipes.pretraining_data import PretrainingRecipe
from course_lib.recipes.translation_model import TranslationRecipe
from course_lib.training.loop import TrainingConfig
from course_lib.validation import (
    check_at_least,
    check_batch,
    check_divisible,
    check_fields,
    check_width,
)


@dataclasses.dataclass
class Config:
    size: int = 1
    first: int = 0
    rate: float = 0.5
    share: float = 0.5
    decay: float = 0.0
    name: str = "a"
    on: bool = True
    kind: Literal["x", "y"] = "x"
    other: Any = None

    def __post_init__(self):
        check_fields(self, zero=["first"], positive=["rate"], shares=["share"])


@pytest.mark.parametrize(
    "changes",
    [{}, {"size": 7, "first": 3}, {"rate": 2, "share": 0, "decay": 9.5}, {"kind": "y", "other": 1}],
)
def test_valid_values_are_accepted(changes):
    Config(**changes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"size": 0}, ValueError, "size must be at least 1, got 0"),
        ({"first": -1}, ValueError, "first must be at least 0, got -1"),
        ({"size": True}, TypeError, "size must be of type int, got True"),
        ({"size": 8.0}, TypeError, r"size must be of type int, got 8\.0"),
        ({"size": "3"}, TypeError, "size must be of type int, got '3'"),
        ({"rate": "3"}, TypeError, "rate must be of type float, got '3'"),
        ({"rate": True}, TypeError, "rate must be of type float, got True"),
        ({"rate": None}, TypeError, "rate must be of type float, got None"),
        ({"rate": 0}, ValueError, "rate must be positive and finite, got 0"),
        ({"rate": math.nan}, ValueError, "rate must be positive and finite, got nan"),
        ({"rate": math.inf}, ValueError, "rate must be positive and finite, got inf"),
        ({"share": 1}, ValueError, "share must be at least 0 and below 1, got 1"),
        ({"share": math.nan}, ValueError, "share must be at least 0 and below 1, got nan"),
        ({"decay": -0.1}, ValueError, r"decay must be at least 0 and finite, got -0\.1"),
        ({"decay": math.nan}, ValueError, "decay must be at least 0 and finite, got nan"),
        ({"name": 1}, TypeError, "name must be of type str, got 1"),
        ({"on": 1}, TypeError, "on must be of type bool, got 1"),
        ({"kind": "z"}, ValueError, r"kind must be one of \('x', 'y'\), got 'z'"),
        ({"kind": ["x"]}, ValueError, r"kind must be one of \('x', 'y'\), got \['x'\]"),
    ],
)
def test_invalid_values_are_rejected_by_name(changes, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        Config(**changes)


WRONG = {int: 8.0, float: math.nan, bool: 1}  # of other types: 3
WRONG_BY_NAME = {"dropout": 1.0, "eps": 0.0, "init_std": 0.0, "rotary_base": 0.0}
CONFIGS = [
    TransformerConfig(src_vocab_size=9, tgt_vocab_size=9),
    DecoderLMConfig(),
    LlamaConfig(),
    BertConfig(),
    TrainingConfig(steps=1),
    AttentionReaderConfig(vocab_size=9, max_length=9),
    DeepReaderConfig(stacking="pre", num_layers=1),
    LANGUAGE_MODELS["cpu"],
    PretrainingRecipe(),
    TranslationRecipe(),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_every_config_of_the_course_is_strict_about_every_field(config):
    for field in dataclasses.fields(config):
        wrong = WRONG.get(field.type, 3)
        for given in (wrong, WRONG_BY_NAME.get(field.name, "3"), *[-1] * (field.type is int)):
            with pytest.raises((TypeError, ValueError), match=f"^{field.name} must be "):
                dataclasses.replace(config, **{field.name: given})


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_configs_are_frozen_and_keyword_only(config):
    fields = dataclasses.fields(config)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, fields[0].name, 1)
    assert all(field.kw_only for field in fields)


def test_the_first_wrong_value_is_named():
    check_at_least(2, a=2, b=3)
    with pytest.raises(ValueError, match="b must be at least 2, got 1"):
        check_at_least(2, a=2, b=1, c=0)


def test_two_values_go_together():
    check_divisible(d_model=8, num_heads=4)
    with pytest.raises(ValueError, match="d_model=8 must be divisible by num_heads=3"):
        check_divisible(d_model=8, num_heads=3)


# --- constructors --------------------------------------------------------------------------------

SMALL = {"vocab_size": 7, "num_layers": 1, "d_model": 4, "num_heads": 2, "d_ff": 4}
SIZES = SMALL | {
    "capacity": 4, "channels": 2, "context_size": 2, "d_attention": 4, "d_embedding": 2,
    "d_hidden": 3, "d_input": 2, "d_memory": 3, "d_query": 2, "head_dim": 2, "max_length": 4,
    "num_kv_heads": 1, "num_labels": 2,
}  # fmt: skip
OTHERS = {
    "bos_id": 0,
    "pad_id": 0,
    "config": BertConfig(**SMALL),
    "decoder": DecoderLM(DecoderLMConfig(**SMALL)),
}
UNCHECKED = {"Pooler", "NextSentenceHead", "SelfAttentionLayer", "NormalizedHeads", "NGramModel",
             "KneserNeyModel"}  # fmt: skip


def constructors_with_sizes():
    """Yield test parameters: a class of layers or models, its arguments, the name of a size."""
    for package in (course_lib.layers, course_lib.models):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for name, cls in inspect.getmembers(module, inspect.isclass):
                is_own = cls.__module__ == module.__name__ and name not in UNCHECKED
                if not is_own or dataclasses.is_dataclass(cls) or issubclass(cls, tuple):
                    continue
                parameters = inspect.signature(cls).parameters
                arguments = {n: v for n, v in (SIZES | OTHERS).items() if n in parameters}
                for size in arguments.keys() & SIZES.keys():
                    yield pytest.param(cls, arguments, size, id=f"{name}-{size}")


@pytest.mark.parametrize(
    ("build", "arguments", "name"), sorted(constructors_with_sizes(), key=lambda p: p.id)
)
def test_constructors_reject_a_size_that_is_no_positive_int(build, arguments, name):
    build(**arguments)
    size = arguments[name]
    optional = () if inspect.signature(build).parameters[name].default is None else (None,)
    for wrong in ((size,), float(size), str(size), *optional):
        with pytest.raises(TypeError, match=rf"^(d_\w+|{name}) must be of type int, got "):
            build(**arguments | {name: wrong})
    with pytest.raises(
        ValueError, match=rf"^(d_\w+|{name}) must be (at least 1|positive).*, got 0"
    ):
        build(**arguments | {name: 0})


@pytest.mark.parametrize(
    "build",
    [
        lambda cell: Recurrent(2, 3, cell=cell),
        lambda cell: FusedRecurrent(2, 3, cell=cell),
        lambda cell: RecurrentEncoder(5, 2, 3, cell=cell),
        lambda cell: RecurrentDecoder(5, 2, 3, 4, cell=cell),
        lambda cell: RecurrentLanguageModel(5, 2, 3, cell=cell),
    ],
)
def test_constructors_name_a_cell_that_is_no_class(build):
    with pytest.raises((TypeError, ValueError), match=r"cell must be .*, got 'gru'"):
        build("gru")


# --- shapes --------------------------------------------------------------------------------------


def test_batches_of_one_size_pass():
    check_batch(query=torch.zeros(2, 3, 4), key=torch.zeros(2, 5, 6))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 4), (2, 3, 4)), r"query must have shape \(batch, length, width\), got \(3, 4\)"),
        (((2, 3, 4), (1, 2, 3, 4)), r"key must have shape"),
        (((2, 3, 4), (1, 3, 4)), r"query, key must agree in batch, got \[2, 1\]"),
    ],
)
def test_wrong_batch_is_named(shapes, message):
    query, key = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(ValueError, match=message):
        check_batch(query=query, key=key)


def test_vectors_of_the_width_pass_and_others_are_named():
    check_width(torch.zeros(2, 3), d_model=3)
    for shape in ((2, 1), (), (3, 2)):
        with pytest.raises(ValueError, match=r"x must have shape \(..., d_model=3\), got"):
            check_width(torch.zeros(shape), d_model=3)
