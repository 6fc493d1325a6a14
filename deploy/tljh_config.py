"""For The Littlest JupyterHub: copy to /opt/tljh/config/jupyterhub_config.d/course.py.

deploy/README.md has the commands to run before, and explains the folders.
"""

import sys
from pathlib import Path

PROJECT = Path("/srv/seq2seq")  # owned by root:grader, closed to others
COURSE = Path("/srv/grader/seq2seq")  # made by `nbgrader-course`, owned by grader
EXCHANGE = Path("/srv/exchange")
INSTRUCTORS = ["ada"]

sys.path.insert(0, str(PROJECT))
from deploy.course_service import add_course, write_student_settings  # noqa: E402

c = get_config()  # noqa: F821 -- JupyterHub defines it
students = Path("/opt/tljh/state/students")
write_student_settings(students, course_id=COURSE.name, exchange=EXCHANGE, one_account=False)
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": str(students)}
add_course(
    c, course_folder=COURSE, instructors=INSTRUCTORS, programs=Path("/opt/course/bin"),
    port=15003, account="grader",
)  # fmt: skip
