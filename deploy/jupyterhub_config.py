"""The course's JupyterHub on one machine; ``python -m deploy.hub`` prepares it and starts it."""

import json
import os
import sys
from pathlib import Path

from deploy.course_service import add_course
from deploy.hub import Place

c = get_config()  # noqa: F821 -- JupyterHub defines it
place = Place(**json.loads(os.environ["COURSE_HUB"]))
programs = Path(sys.executable).parent

c.JupyterHub.bind_url = f"http://127.0.0.1:{place.port}"
c.JupyterHub.hub_port = place.port + 1
c.JupyterHub.db_url = f"sqlite:///{place.records / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(place.records / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(place.state / "proxy.pid")
c.ConfigurableHTTPProxy.command = place.proxy_command
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{place.port + 2}"

# ---- users and their servers ----

c.Authenticator.allow_all = True
c.Spawner.default_url = "/lab"
c.Spawner.cmd = [str(programs / "jupyterhub-singleuser")]
c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": str(place.students),
    "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
}
c.Spawner.start_timeout = c.Spawner.http_timeout = 600  # for a class that logs in at once
staff_environment, arguments = {}, []
if place.grader:  # accounts of this machine
    c.JupyterHub.authenticator_class = "pam"
    c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
else:  # a trial with any names: everything runs as the hub's own account
    c.JupyterHub.authenticator_class = "shared-password"
    c.SharedPasswordAuthenticator.user_password = place.password
    c.JupyterHub.spawner_class = "simple"
    c.SimpleLocalProcessSpawner.home_dir_template = str(place.state / "homes" / "{username}")
    staff_environment["HOME"] = str(place.state / "homes" / "staff")
    arguments = ["--allow-root"] if os.geteuid() == 0 else []
c.Spawner.args = arguments

# ---- the course ----

c.JupyterHub.services = []
add_course(
    c, course_folder=place.course, instructors=place.instructors, programs=programs,
    port=place.port + 3, account=place.grader, environment=staff_environment, arguments=arguments,
)  # fmt: skip
book, served = place.book, Path(place.book).is_dir()
if served:
    book = "/services/book/"
    c.JupyterHub.services.append(
        {
            "name": "book",
            "url": f"http://127.0.0.1:{place.port + 4}",
            "command": [sys.executable, "-m", "deploy.book_site", place.book],
            "display": False,
        }
    )
if book:
    c.JupyterHub.template_vars = {"announcement": f'<a href="{book}">The course\'s book</a>'}
