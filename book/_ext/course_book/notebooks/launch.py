"""Buttons that open a chapter's notebook on Colab or a JupyterHub, if ``_config.yml`` names one.

In place of the theme's, which link to the chapter's Markdown: neither service runs that. Ours link
to the notebooks that the workflow ``course.yml`` puts into a branch of their own.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

_FOLDERS = {"jupyterlab": "lab/tree", "classic": "tree"}
BRANCH = "notebooks"
"""The branch of the notebooks, all in its uppermost folder."""


def launch_links(
    services: Mapping[str, str], repository: str, notebook: str
) -> dict[str, tuple[str, str]]:
    """Return where a notebook can be opened.

    Args:
        services: ``colab_url``, ``jupyterhub_url`` (a hub with nbgitpuller) and
            ``notebook_interface``; addresses may be empty or missing.
        repository: Address of the course's repository; empty if it has none.
        notebook: Name of the notebook's file.

    Returns:
        For each service that is named: its logo in the theme, and the address to open.

    Raises:
        ValueError: ``notebook_interface`` is neither ``jupyterlab`` nor ``classic``.
    """
    if not repository:
        return {}
    interface = services.get("notebook_interface", "jupyterlab")
    if interface not in _FOLDERS:
        raise ValueError(f"notebook_interface is {interface!r}, expected one of {list(_FOLDERS)}")
    repository = repository.rstrip("/").removesuffix(".git")
    place = urlsplit(repository)
    links = {}
    if (hub := services.get("jupyterhub_url", "").rstrip("/")) and place.path:
        path = f"{_FOLDERS[interface]}/{place.path.rsplit('/', 1)[-1]}/{notebook}"
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
    links = launch_links(
        app.config.course_launch,
        app.config.html_theme_options.get("repository_url", ""),
        f"{pagename.rsplit('/', 1)[-1]}.ipynb",
    )
    buttons = [
        {
            "type": "link",
            "text": name,
            "tooltip": f"Open this chapter on {name}",
            "icon": f"_static/images/{logo}",
            "url": url,
        }
        for name, (logo, url) in links.items()
    ]
    if buttons:
        context["header_buttons"].append(
            {
                "type": "group",
                "icon": "fas fa-rocket",
                "label": "launch-buttons",
                "tooltip": "Run this chapter elsewhere",
                "buttons": buttons,
            }
        )


def setup(app: Sphinx) -> None:
    """Replace the theme's launch buttons.

    Args:
        app: The Sphinx application.
    """
    app.add_config_value("course_launch", {}, "html", types=[dict])
    app.connect("config-inited", _take_over)
    app.connect("html-page-context", _add_buttons, priority=501)  # the theme has begun its list
