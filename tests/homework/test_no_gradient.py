"""Layers pass gradients on, and an answer that cuts them loses a point.

Each solution is run, so results are right: only the backward pass is cut.
"""

import pytest

from autograder.judging.trusted_code import names_of_checks
from tests.daily import with_proofs
from tests.homework.own_kernel import lost_checks, run_cells, with_checks_of
from tests.homework.submissions import solved_cells, solved_sources, wrapped_cell
from tests.homework.tables import course_homeworks, load_homework
from tests.homework.test_nothing_computed import SLOW

NO_LAYERS = {  # their results do not depend on a model's parameters
    "greedy_search", "beam_search", "diagnose", "alignment_error", "causal_mask", "padding_mask",
    "position_angles", "shift_matrix", "layer_norm_backward", "diagnose_layer_norm",
    "translation_masks", "inverse_sqrt", "FixedCache", "keep_top_k", "keep_top_p", "sample",
    "kv_cache_bytes", "split_word", "corrupt_tokens", "mask_tokens", "next_sentence_pairs",
    "next_token_probabilities", "generate",
}  # fmt: skip
NOTHING_TO_CUT = {
    "no_grad": {"GrowingCache"},  # takes nothing that asks for gradients
    "inputs": {  # token ids
        "Transformer", "training_step", "TextModel", "BertEmbeddings", "SentenceClassifier",
        "fine_tune", "LlamaDecoder",
    },
    "results": {"training_step", "fine_tune", "GrowingCache"},  # floats; no gradients are let in
    "parameters": {
        "read_both_ways", "scaled_dot_product_attention", "SinusoidalPositions", "RotaryPositions",
        "layer_norm", "rms_norm", "Residual", "label_smoothed_cross_entropy", "GrowingCache",
        "rotate_halves",
    },
}  # fmt: skip
UNTRAINED = ("hw07-bleu",)  # numbers without tensors
CUTS = ["no_grad", "inputs", "results", "parameters"]

CUT = """
def _wrapped(function, how):
    import dataclasses

    def detached(x):
        if dataclasses.is_dataclass(x):
            names = [field.name for field in dataclasses.fields(x)]
            return dataclasses.replace(x, **{name: detached(getattr(x, name)) for name in names})
        if isinstance(x, torch.Tensor) and not isinstance(x, torch.nn.Parameter):
            return x.detach()
        return type(x)(map(detached, x)) if type(x) in (list, tuple) else x

    def without(*args, **named):
        with torch.no_grad():
            return function(*args, **named)

    def of_inputs(*args, **named):
        named = {name: detached(x) for name, x in named.items()}
        return function(*map(detached, args), **named)

    def of_parameters(*args, **named):
        modules = [x for x in args[:1] if isinstance(x, torch.nn.Module)]
        frozen = [p for module in modules for p in module.parameters() if p.requires_grad]
        for p in frozen:
            p.requires_grad_(False)
        try:
            return function(*args, **named)
        finally:
            for p in frozen:
                p.requires_grad_()

    def of_results(*args, **named):
        return detached(function(*args, **named))

    return {
        "no_grad": without,
        "inputs": of_inputs,
        "parameters": of_parameters,
        "results": of_results,
    }[how]
"""


@pytest.mark.parametrize("how", with_proofs(CUTS, CUTS[1:]))
@pytest.mark.parametrize("homework", [h for h in course_homeworks() if h not in UNTRAINED])
def test_who_cuts_the_gradients_loses_a_point(homework, how):
    solved = load_homework(homework)
    sources, cells = solved_sources(solved), solved_cells(solved)
    names = names_of_checks(solved, "cpu")
    free = set()
    for exercise in sources:
        cut = [
            wrapped_cell(cell, CUT, how) if cell.grade_id == exercise else cell for cell in cells
        ]
        if not lost_checks(run_cells(with_checks_of(cut, [exercise], SLOW), names=names)):
            free.add(exercise)
    expected = NO_LAYERS | NOTHING_TO_CUT.get(how, set())
    assert free == expected & sources.keys()
