"""Buttons that open a chapter's notebook on Colab or a JupyterHub, if ``_config.yml`` names one.

The theme's own buttons link to the chapter's Markdown, which neither service runs. These link to
the branch of notebooks that the workflow ``course.yml`` publishes.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

BRANCH = "notebooks"


def launch_links(
    services: Mapping[str, str], repository: str, notebook: str
) -> dict[str, tuple[str, str]]:
    """Return the logo's file and the address, by name, of each service that can open a notebook.

    Args:
        services: ``colab_url`` and ``jupyterhub_url`` (a hub with nbgitpuller); may be empty.
        repository: Address of the course's repository; empty if it has none.
        notebook: File name of the notebook.
    """
    if not repository:
        return {}
    repository = repository.rstrip("/").removesuffix(".git")
    place = urlsplit(repository)
    links = {}
    if (hub := services.get("jupyterhub_url", "").rstrip("/")) and place.path:
        path = f"lab/tree/{place.path.rsplit('/', 1)[-1]}/{notebook}"
        query = urlencode({"repo": repository, "branch": BRANCH, "urlpath": path})
        links["JupyterHub"] = ("logo_jupyterhub.svg", f"{hub}/hub/user-redirect/git-pull?{query}")
    if (colab := services.get("colab_url", "").rstrip("/")) and place.netloc == "github.com":
        links["Colab"] = ("logo_colab.png", f"{colab}/github{place.path}/blob/{BRANCH}/{notebook}")
    return links


def _take_over(app: Sphinx, config: Config) -> None:
    config.course_launch = config.html_theme_options.pop("launch_buttons", {})


def _add_buttons(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if "ipynb_source" not in context:
        return
    repository = app.config.html_theme_options.get("repository_url", "")
    notebook = f"{pagename.rsplit('/', 1)[-1]}.ipynb"
    links = launch_links(app.config.course_launch, repository, notebook)
    buttons = [
        {"type": "link", "text": name, "tooltip": f"Open this chapter on {name}",
         "icon": f"_static/images/{logo}", "url": url}
        for name, (logo, url) in links.items()
    ]  # fmt: skip
    if buttons:
        context["header_buttons"].append(
            {"type": "group", "icon": "fas fa-rocket", "label": "launch-buttons",
             "tooltip": "Run this chapter elsewhere", "buttons": buttons}
        )  # fmt: skip


def setup(app: Sphinx) -> None:
    """Replace the theme's launch buttons with buttons that open the chapter's notebook."""
    app.add_config_value("course_launch", {}, "html", types=[dict])
    app.connect("config-inited", _take_over)
    app.connect("html-page-context", _add_buttons, priority=501)  # after the theme's own buttons
