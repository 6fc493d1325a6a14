"""Is what makes no sense refused by its name, and everything else let through?"""

import dataclasses
import math
from typing import Any, Literal

import pytest

from course_lib.analysis.attention_reader import AttentionReaderConfig
from course_lib.analysis.depth_experiment import DeepReaderConfig
from course_lib.models.bert import BertConfig
from course_lib.models.gpt import DecoderLMConfig
from course_lib.models.transformer import TransformerConfig
from course_lib.recipes.language_modelling.presets import PRESETS as LANGUAGE_MODELS
from course_lib.recipes.pretraining.presets import PretrainingRecipe
from course_lib.recipes.translation.presets import TranslationRecipe
from course_lib.training.loop import TrainingConfig
from course_lib.validation import check_at_least, check_divisible, check_fields


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
def test_what_makes_sense_is_let_through(changes):
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
def test_what_makes_no_sense_is_refused_by_name(changes, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        Config(**changes)


WRONG = {int: 8.0, float: math.nan, bool: 1}  # of other types: 3
CONFIGS = [
    TransformerConfig(src_vocab_size=9, tgt_vocab_size=9),
    DecoderLMConfig(),
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
        for given in (wrong, "3"):
            with pytest.raises((TypeError, ValueError), match=f"^{field.name} must be "):
                dataclasses.replace(config, **{field.name: given})


def test_the_first_wrong_value_is_named():
    check_at_least(2, a=2, b=3)
    with pytest.raises(ValueError, match="b must be at least 2, got 1"):
        check_at_least(2, a=2, b=1, c=0)


def test_two_values_go_together():
    check_divisible(d_model=8, num_heads=4)
    with pytest.raises(ValueError, match="d_model=8 must be divisible by num_heads=3"):
        check_divisible(d_model=8, num_heads=3)
