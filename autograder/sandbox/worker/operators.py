"""Which of PyTorch's operators compute what an exercise forbids by name.

An exercise names what students know: a class, a function. What runs beneath, PyTorch dispatches as
operators, however it was reached: by a computed name, as a part of another layer, in a thread.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Family:
    """What can stand for a forbidden name of PyTorch's.

    Attributes:
        names: Matches the last part of the forbidden names.
        operators: Matches the operators that none but these compute, and functions of PyTorch's
            that do the same in Python; empty if there are none.
        shared: Matches operators that such functions run, and honest solutions too: what counts is
            who asked for them.
        parts: Whether it is made of layers that somebody else's may take the place of: what it runs
            is then no sign of it, and calls of its forward are noted.
    """

    names: str
    operators: str = ""
    shared: str = ""
    parts: bool = False


COMPILED = "a compiled graph"
"""What is noted where a graph runs, in which no class or function can be recognized."""

PROCESS = "a process of its own"
"""What is noted where another process is started, in which nothing is noted."""

PRYING = "what is no business of a solution's"
"""What is noted where a cell's own code reads the code of functions, or looks for objects."""

LEFT = "what runs beside cells"
"""What is noted where something that an earlier cell has left could act while a cell is read."""

TRACED = "a graph of what is forbidden"
"""What is noted where a cell has the forbidden run while a graph is made of it."""

TRACES = "what traces"
"""What is noted where a check would have itself traced, which could change what notes."""

UNDONE = "what notes was taken away"
"""What is noted where an operator that is watched has PyTorch's own kernels again."""

RELOADED = "PyTorch anew"
"""What is noted where PyTorch's modules are run once more: nothing is noted of what they make."""

FORGED = "code under another's name"
"""What is noted where a module that is run calls its file as an installed one is called."""

MOST_NOTES = 500
"""That a process makes in one check: one for each thing that ran, and each way to it."""

FULL = "more than can be noted"
"""What is noted last where there is more: nobody who is honest calls things in so many ways."""

_OPERATORS = "torch.ops."
_WORDS = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ATTENTION = "::(_softmax|_safe_softmax|_masked_softmax|scaled_dot_product_attention)$"

FAMILIES = (
    # Over one group, or over rows taken for channels, the other norms are a layer norm.
    Family(
        names="LayerNorm|RMSNorm|layer_norm|rms_norm",
        operators="(layer|rms|group|instance|batch|local_response)_?norm|(?<!\\w)_normalize(?!_)"
        "|cross_map_lrn",
        shared=r"::(rsqrt|sqrt|var\.correction|var_mean\.correction|pow\.Tensor_Scalar(_out)?"
        "|avg_pool[23]d)$",
    ),
    # With its gates held open a GRU is an RNN, and so is what an LSTM keeps.
    Family(
        names="RNN|GRU|rnn_tanh|gru",
        operators="(?<![a-z])(gru|lstm|rnn)(?!.*_cell)",
        shared="::(sigmoid|tanh)$",
    ),
    Family(
        names="(RNN|GRU)Cell|(rnn_tanh|gru)_cell",
        operators="(?<![a-z])(gru|lstm|rnn)",
        shared="::(sigmoid|tanh)$",
    ),
    # Not nll_loss: who takes the logarithm of the softmax themselves may pick an entry with it.
    Family(
        names="(Linear)?CrossEntropyLoss|(linear_)?cross_entropy|AdaptiveLogSoftmaxWithLoss",
        operators="(?<!binary_)cross_entropy|adaptive_log_softmax",
        shared="::_log_softmax$",
    ),
    Family(
        names="MultiheadAttention|multi_head_attention_forward",
        operators="multi_?head_attention|transformer_encoder_layer_fwd|transform_bias_rescale_qkv"
        r"|(?<!\w)attention_\d+",  # ONNX's, which splits heads too
        shared=_ATTENTION,
        parts=True,
    ),
    Family(
        names="TransformerEncoder(Layer)?",
        operators="transformer_encoder_layer_fwd",
        shared=f"{_ATTENTION}|::native_layer_norm$",
        parts=True,
    ),
    Family(
        names="Transformer(Decoder(Layer)?)?",
        shared=f"{_ATTENTION}|::native_layer_norm$",
        parts=True,
    ),
    # Beside the engine: what carries a gradient back by itself, and what carries one forward.
    Family(
        names="autograd|func|backward|enable_grad|set_grad_enabled|inference_mode",
        operators="norm.*_(backward|bwd)|::_backward|_(make|unpack)_dual$|cross_map_lrn",
        shared="::sum.dim_IntList$",
    ),
)  # fmt: skip


def families_of(names: Iterable[str]) -> Iterator[tuple[str, Family]]:
    """Yield each full name of PyTorch's that has a family, with it."""
    for name in names:
        for family in FAMILIES:
            if name.startswith("torch.") and re.fullmatch(family.names, name.rpartition(".")[2]):
                yield name, family


def forbids(names: Iterable[str], noted: str) -> bool:
    """Whether a rule is about what was noted.

    Args:
        names: The full names that the rule forbids.
        noted: A full name, or an operator's as ``full_name`` gives it.
    """
    names = list(names)
    if any(noted == name or noted.startswith(f"{name}.") for name in names):
        return True
    if not noted.startswith(_OPERATORS):
        return False
    operator = noted.removeprefix(_OPERATORS).replace(".", "::", 1)
    return any(f.operators and re.search(f.operators, operator) for _, f in families_of(names))


def spelt_as_operators(name: str) -> str:
    """Spell a class's name as operators are: ``rms_norm_python`` for ``RMSNormPython``."""
    return _WORDS.sub("_", name).lower()


def full_name(operator: str) -> str:
    """Return the name by which Python calls an operator: ``torch.ops.aten.native_layer_norm``."""
    return _OPERATORS + operator.partition(".")[0].replace("::", ".")
