"""The decoding algorithms under one roof: how a model that names one next token writes many.

Each lives in a file of its own: ``greedy_search.py``, ``sampling.py``, ``beam_search.py``,
``diagnosis.py``. All of them drive a ``StepModel`` (``step_model.py``).
"""

from course_lib.beam_search import beam_search
from course_lib.diagnosis import Diagnosis, Fault, diagnose, score_sequences
from course_lib.greedy_search import greedy
from course_lib.hypothesis import Hypothesis
from course_lib.length_penalty import PowerPenalty, WuPenalty
from course_lib.recomputing_model import RecomputingModel
from course_lib.sampling import keep_top_k, keep_top_p, sample
from course_lib.step_model import StepModel

__all__ = [
    "Diagnosis",
    "Fault",
    "Hypothesis",
    "PowerPenalty",
    "RecomputingModel",
    "StepModel",
    "WuPenalty",
    "beam_search",
    "diagnose",
    "greedy",
    "keep_top_k",
    "keep_top_p",
    "sample",
    "score_sequences",
]
