"""nbgrader's configuration for this course: students' code is run by the trusted judge."""

from autograder.homework_source.nbgrader_settings import configure

configure(get_config())  # noqa: F821 -- nbgrader defines it
