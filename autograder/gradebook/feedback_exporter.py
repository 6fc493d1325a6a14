"""Writes our feedback page for ``nbgrader generate_feedback``."""

from pathlib import Path
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from autograder.gradebook.graded_notebook import kept_result
from autograder.gradebook.hand_grades import read_hand_grades
from autograder.gradebook.late_penalties import DatedPenalties, configured_dates, lateness_among
from autograder.gradebook.preprocessor import TrustedJudge
from autograder.homework_source.book_links import book_address, with_headings
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Lateness, stand
from autograder.reports.feedback import render_feedback


class FeedbackPage(HTMLExporter):
    """Renders a graded notebook as feedback; set as ``c.GenerateFeedback.exporter_class``.

    A notebook that the judge did not grade gets nbgrader's own page.
    """

    def from_notebook_node(
        self, nb: NotebookNode, resources: Any = None, **kw: Any
    ) -> tuple[str, Any]:
        """Return a self-contained HTML page, and the resources."""
        result = kept_result(nb)
        if result is None:
            page, resources = super().from_notebook_node(nb, resources, **kw)
            return page, resources
        return self._page(result, resources["nbgrader"]["db_url"]), self._init_resources(resources)

    def _page(self, result: SubmissionResult, db_url: str) -> str:
        root = Path(TrustedJudge(config=self.config).root)
        given = read_hand_grades(result.homework, root, db_url).get(result.student)
        homework = with_headings(load_homework(result.homework, root), root)
        standing = stand(result, given, self._lateness(result, db_url))
        return render_feedback(standing, homework, book_url=book_address(root), alone=True)

    def _lateness(self, result: SubmissionResult, db_url: str) -> Lateness | None:
        penalties = DatedPenalties(config=self.config)
        dates = configured_dates(penalties.root, penalties.dates)
        if dates is None:
            return None
        with Gradebook(db_url) as gradebook:
            submissions = gradebook.student_submissions(result.student)
            return lateness_among(submissions, result.homework, dates)
