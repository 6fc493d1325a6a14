"""The figures' scripts and styles: all of them reach the site, and nothing else does."""

from pathlib import Path

from course_book.figures import assets
from course_book.figures.registry import FIGURES

FIGURES_ROOM = Path(assets.__file__).parent


def test_each_folder_is_a_figure_of_that_name():
    folders = {file.parent.name for file in FIGURES_ROOM.glob("*/data.py")}
    assert folders == {name.replace("-", "_") for name in FIGURES}
    for name, figure in FIGURES.items():
        folder = name.replace("-", "_")
        assert figure.model.__module__ == f"course_book.figures.{folder}.data"


def test_every_script_and_style_is_served():
    lying = {file for kind in ("*.js", "*.css") for file in FIGURES_ROOM.rglob(kind)}
    assert set(assets.figure_assets().values()) == lying


def test_the_site_holds_them_and_no_python(build_page, tmp_path):
    build_page("# Page")
    static = tmp_path / "out" / "html" / "_static"
    copies = {
        file.relative_to(static / "figures").as_posix(): file.read_bytes()
        for file in (static / "figures").rglob("*")
        if file.is_file()
    }
    sources = assets.figure_assets()
    assert copies == {address: source.read_bytes() for address, source in sources.items()}
    assert not list(static.rglob("*.py"))
