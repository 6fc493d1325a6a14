"""The decoding algorithms under one roof: how a model that names one next token writes many."""

from course_lib.hypothesis import Hypothesis
from course_lib.step_model import StepModel

__all__ = ["Hypothesis", "StepModel"]
