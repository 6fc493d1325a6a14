"""Who answers for what runs: the course's library for what it calls by name, and for no more."""

from autograder.sandbox.worker import recorder
from course_lib.layers import attention, normalization
from course_lib.testing import call_beside


def test_the_library_answers_for_what_its_own_text_names():
    code = recorder._library_code("rms_norm")
    assert normalization.RMSNorm.forward.__code__ in code
    assert normalization.rms_norm.__code__ in code
    assert attention.MultiHeadAttention.forward.__code__ not in code


def test_what_calls_whatever_it_is_handed_answers_for_nothing():
    assert call_beside.__code__ not in recorder._library_code("call_beside")
