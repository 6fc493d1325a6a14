"""Metadata of pages with an address of the book, and without one."""

import json
import re
import shutil
import subprocess
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from course_book.notebooks.launch import launch_links
from course_book.site.published import last_changes

from tests.book.small_book import BASE, PAGES, REPOSITORY, ROOT


@pytest.fixture(scope="module")
def intro(published):
    """The parsed first page of the small book."""
    return BeautifulSoup((published / "book" / "intro.html").read_text(), "lxml")


def test_a_shared_page_has_open_graph_tags(intro, published):
    tags = {tag["property"]: tag["content"] for tag in intro.find_all("meta", property=True)}
    assert tags["og:title"] == "A <small> chapter"
    assert tags["og:url"] == f"{BASE}/book/intro.html"
    assert tags["og:description"].startswith("The loss is what training lowers, as Vaswani")
    image = tags["og:image"].removeprefix(f"{BASE}/")
    assert (published / image).stat().st_size < 150_000
    assert (published / image).read_bytes()[16:24] == (1200).to_bytes(4) + (630).to_bytes(4)
    assert intro.find("link", rel="canonical")["href"] == tags["og:url"]
    assert len(intro.find_all("meta", {"name": "description"})) == 1


def test_the_sitemap_names_every_page(published):
    name = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    tree = ElementTree.fromstring((published / "sitemap.xml").read_text())
    assert [loc.text for loc in tree.iter(f"{name}loc")] == [
        f"{BASE}/book/{page}.html" for page in sorted(PAGES)
    ]


def test_a_reader_can_report_a_problem_of_a_page_mend_it_and_cite_it(intro):
    report, edit = intro.select(".course-page-foot a")
    assert report["href"].startswith(f"{REPOSITORY}/issues/new?")
    assert parse_qs(urlsplit(report["href"]).query)["title"] == ["On the page book/intro"]
    assert edit["href"] == f"{REPOSITORY}/edit/main/book/intro.md"
    entry = intro.select_one(".course-page-foot pre").get_text()
    assert entry.startswith("@incollection{intro,")
    assert "author    = {{The authors of the course}}," in entry
    assert f"url       = {{{BASE}/book/intro.html}}," in entry


def test_an_excerpt_of_the_search_has_no_keys_and_no_names_of_files(site):
    script = (site / "_static" / "search-entries.js").read_text()
    entries = json.loads(script.partition("=")[2].rstrip(";\n"))
    texts = [entry["text"] for entry in entries if not entry["page"].startswith("book/for-")]
    keys = re.findall(r"@\w+\{(\w+),", (ROOT / "book" / "references.bib").read_text())
    words = {word for text in texts for word in re.findall(r"[\w/.]+", text)}
    assert len(texts) > 500
    assert words.isdisjoint(keys)
    assert not [word for word in words if re.fullmatch(r"course_lib/.*\.py", word)]


def test_chapters_open_on_colab_and_on_the_hub_as_notebooks(intro):
    links = {a.get_text(strip=True): a["href"] for a in intro.select(".dropdown-launch-buttons a")}
    assert links["Colab"] == (
        "https://colab.research.google.com/github/some-school/the-course/blob/notebooks/intro.ipynb"
    )
    hub = urlsplit(links["JupyterHub"])
    assert (hub.netloc, hub.path) == ("hub.example.org", "/hub/user-redirect/git-pull")
    assert parse_qs(hub.query) == {
        "repo": [REPOSITORY],
        "branch": ["notebooks"],
        "urlpath": ["lab/tree/the-course/intro.ipynb"],
    }
    assert len(links) == 2


def test_only_chapters_with_code_can_be_opened_or_downloaded_as_notebooks(published):
    page = BeautifulSoup((published / "book" / "glossary.html").read_text(), "lxml")
    assert not page.select(".dropdown-launch-buttons, .btn-download-notebook-button")


def test_links_need_a_service_and_a_repository_and_colab_needs_github():
    both = {"colab_url": "https://colab.example", "jupyterhub_url": "https://hub.example"}
    for services in ({}, {"colab_url": ""}, {"jupyterhub_url": ""}):
        assert launch_links(services, REPOSITORY, "a.ipynb") == {}
    assert launch_links(both, "", "a.ipynb") == {}
    assert list(launch_links(both, "https://gitlab.com/a/b", "a.ipynb")) == ["JupyterHub"]


def test_an_unpublished_book_names_no_address(site):
    assert not (site / "sitemap.xml").exists()
    for page in sorted(site.glob("book/*.html")):
        text = page.read_text()
        for absent in ("og:", 'rel="canonical"', "launch-buttons", "issues/new"):
            assert absent not in text, (page.name, absent)
        assert text.count('name="description"') <= 1


def test_dates_come_from_git(tmp_path):
    assert last_changes(tmp_path) == {}

    def git(*arguments, day="2025-01-01"):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        stamp = f"{day}T12:00:00+00:00"
        command = [shutil.which("git"), *who, *arguments]
        environment = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=environment)

    git("init")
    for name in ("one", "two"):
        (tmp_path / name).write_text("first")
        git("add", name)
    git("commit", "-m", "both", day="2025-02-03")
    (tmp_path / "two").write_text("second")
    git("commit", "-am", "one of them", day="2026-04-05")
    assert last_changes(tmp_path) == {"one": "2025-02-03", "two": "2026-04-05"}

    shallow = tmp_path / "shallow"
    git("clone", "--depth", "1", tmp_path.as_uri(), str(shallow))
    assert last_changes(shallow) == {}
