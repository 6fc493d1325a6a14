"""On a machine with a GPU: marks are those that a CPU gives."""

import contextlib

import pytest

from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_class
from tests.homework.submissions import Submission, write_class
from tests.homework.tables import ROOT, load_homework, released_notebook


@pytest.mark.gpu
@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize(
    "homework_id", ["hw01-recurrent-seq2seq", "hw03-self-attention", "hw05-transformer"]
)
def test_a_gpu_changes_no_marks(tmp_path, homework_id, isolated):
    homework = load_homework(homework_id)
    right = Submission(student="ada", what="right")
    write_class([right], homework, released_notebook(homework_id), tmp_path / "submitted")
    options = GradingOptions(workers=1, device="cuda", isolated=isolated)
    with contextlib.closing(JudgePool()) as judges:
        (result,) = grade_class(homework, tmp_path / "submitted", options, root=ROOT, judges=judges)
    assert result.score == right.score(homework), result.checks
