"""Adds the course to the configuration of a JupyterHub whose servers share a file system.

The staff grade in one server of one account, ``/services/<course>/``, which a group of the hub's
users can open, and so share one gradebook. Students have servers of their own with nbgrader's
extensions for students. Imports only the standard library, because TLJH's hub has its own Python.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

STUDENT_SETTINGS = '''"""nbgrader for students: the exchange to fetch from and submit to."""

c = get_config()  # noqa: F821 -- nbgrader defines it
c.CourseDirectory.course_id = {course_id!r}
c.Exchange.root = {exchange!r}
'''
NAMED_BY_HUB = """import os

c.CourseDirectory.student_id = os.environ.get("JUPYTERHUB_USER", "*")
"""
FRAMES = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
"""JupyterLab shows formgrader in a frame, which JupyterHub forbids by default."""
FOR_STAFF = ("formgrader", "create-assignment", "course-list")


def write_student_settings(
    folder: Path, *, course_id: str, exchange: Path, one_account: bool
) -> None:
    """Write the settings of students' servers, for ``JUPYTER_CONFIG_PATH``.

    Args:
        folder: The folder to write; readable by students.
        course_id: The course's name in the exchange.
        exchange: The exchange's folder.
        one_account: Whether all servers run as one system account, so that only the hub knows the
            student's name.
    """
    (folder / "labconfig").mkdir(parents=True, exist_ok=True)
    (folder / "jupyter_server_config.d").mkdir(exist_ok=True)
    text = STUDENT_SETTINGS.format(course_id=course_id, exchange=str(exchange))
    text += NAMED_BY_HUB if one_account else ""
    (folder / "nbgrader_config.py").write_text(text, encoding="utf-8")
    hidden = {f"@jupyter/nbgrader:{name}": True for name in FOR_STAFF}
    _write_json(folder / "labconfig" / "page_config.json", {"disabledExtensions": hidden})
    stopped = {
        f"nbgrader.server_extensions.{name}": False for name in ("formgrader", "course_list")
    }
    settings = {"ServerApp": {"jpserver_extensions": stopped}}
    _write_json(folder / "jupyter_server_config.d" / "students.json", settings)


def add_course(
    c: Any,
    *,
    course_folder: Path,
    instructors: Collection[str],
    programs: Path,
    port: int,
    account: str = "",
    environment: Mapping[str, str] | None = None,
    arguments: Collection[str] = (),
) -> None:
    """Add the staff's server to a hub's configuration.

    Args:
        c: The configuration, changed in place.
        course_folder: The folder that ``nbgrader-course`` made; its name is the course's name.
        instructors: The hub's users who may grade.
        programs: The environment's ``bin``, with ``jupyterhub-singleuser``.
        port: A free port for the staff's server.
        account: The system account that grades; the hub's own account if empty.
        environment: Additional environment variables of the server.
        arguments: Additional arguments of the server.
    """
    course = course_folder.name
    c.JupyterHub.load_groups = {f"formgrade-{course}": {"users": sorted(instructors)}}
    c.JupyterHub.load_roles = [
        {
            "name": f"formgrade-{course}",
            "groups": [f"formgrade-{course}"],
            "scopes": [f"access:services!service={course}"],
        }
    ]
    path = {"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"}
    service = {
        "name": course,
        "url": f"http://127.0.0.1:{port}",
        "command": [
            str(programs / "jupyterhub-singleuser"), f"--ServerApp.root_dir={course_folder}",
            f"--ServerApp.tornado_settings={FRAMES}",
            "--ServerApp.default_url=/lab?formgrader=true", *arguments,
        ],
        "cwd": str(course_folder),
        "environment": path | dict(environment or {}),
        "oauth_no_confirm": True,
    }  # fmt: skip
    c.JupyterHub.services.append(service | ({"user": account} if account else {}))


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
