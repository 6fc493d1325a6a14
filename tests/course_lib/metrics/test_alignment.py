"""Do the two measures count what they say they count?"""

import pytest
import torch

from course_lib.metrics.alignment import alignment_error, unaligned_attention

WEIGHTS = torch.tensor([[[0.6, 0.3, 0.1], [0.4, 0.35, 0.25]], [[0.0, 0.2, 0.8], [0.5, 0.5, 0.0]]])


def test_measures_by_hand():
    alignment = torch.tensor([[0, 1], [2, -1]])
    assert alignment_error(WEIGHTS, alignment) == pytest.approx(1 / 3)
    assert unaligned_attention(WEIGHTS, alignment) == pytest.approx((0.4 + 0.65 + 0.2) / 3)


def test_with_several_keys_any_of_them_is_right():
    links = torch.tensor([[[True, True, False], [False, True, True]]])
    assert alignment_error(WEIGHTS[:1], links) == pytest.approx(1 / 2)
    assert unaligned_attention(WEIGHTS[:1], links) == pytest.approx((0.1 + 0.4) / 2)


@pytest.mark.parametrize("measure", [alignment_error, unaligned_attention])
@pytest.mark.parametrize(
    "alignment",
    [torch.zeros(1, 2), torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.bool)],
)
def test_an_alignment_of_another_dtype_is_refused(measure, alignment):
    with pytest.raises(TypeError, match="integer positions or boolean links"):
        measure(torch.rand(1, 2, 3), alignment)


@pytest.mark.parametrize("measure", [alignment_error, unaligned_attention])
@pytest.mark.parametrize(
    ("shape", "alignment", "message"),
    [
        ((2, 3), torch.zeros(2, 3, dtype=torch.long), "weights must have shape"),
        ((1, 2, 3), torch.zeros(1, 3, dtype=torch.long), "weights must have shape"),
        ((1, 2, 3), torch.tensor([[0, 3]]), "alignment must name keys 0 to 2, got 3"),
        ((1, 2, 3), torch.tensor([[-1, -1]]), "got none"),
        ((1, 2, 3), torch.zeros(1, 2, 3, dtype=torch.bool), "got none"),
        ((0, 2, 3), torch.zeros(0, 2, dtype=torch.long), "got none"),
    ],
)
def test_wrong_shapes_are_rejected(measure, shape, alignment, message):
    with pytest.raises(ValueError, match=message):
        measure(torch.rand(shape), alignment)
