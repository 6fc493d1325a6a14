"""``backup`` and ``restore``: a copy of one moment, and nothing that is half or another's."""

import json
import os
import shutil
import sqlite3
import subprocess
import zipfile

import pytest

from tests.autograder.command_line import contents, refused, run
from tests.autograder.gradebook.private_postgres import missing_postgres, running_postgres
from tests.autograder.gradebook.recording import record_in_gradebook, write_graded_class
from tests.autograder.graded_class import HOMEWORK, result, store_results


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    results = [result("ada"), result("ben")]
    return write_graded_class(tmp_path_factory.mktemp("graded"), results)


@pytest.fixture
def archive(graded, tmp_path):
    file = tmp_path / "backups" / "week-5.zip"
    outcome = run("backup", file, "--out", graded)
    assert outcome.exit_code == 0, outcome.output
    return file


def files_of(folder):
    """Return the content of each file in a folder by path, except the gradebook's.

    Equal gradebooks may differ in their bytes.
    """
    return {name: data for name, data in contents(folder).items() if "gradebook.db" not in name}


def rows_of(gradebook):
    with sqlite3.connect(gradebook) as database:
        return "\n".join(database.iterdump())


def test_restore_brings_back_every_file(graded, archive, tmp_path):
    outcome = run("restore", archive, "--out", tmp_path / "again")
    assert outcome.exit_code == 0, outcome.output
    assert len(files_of(graded)) > 10
    assert files_of(tmp_path / "again") == files_of(graded)
    gradebook = "nbgrader/gradebook.db"
    assert "ada" in rows_of(tmp_path / "again" / gradebook)
    assert rows_of(tmp_path / "again" / gradebook) == rows_of(graded / gradebook)
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


def test_skipped_links_are_named(graded, tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    shutil.copytree(graded, out)
    (out / "results").rename(elsewhere)
    (out / "results").symlink_to(elsewhere)
    (out / "report.html").unlink()
    (out / "report.html").symlink_to("nowhere")
    outcome = run("backup", tmp_path / "b.zip", "--out", out)
    assert outcome.exit_code == 1
    assert outcome.stderr == "Error: links, not followed and not in it: report.html, results\n"
    assert (tmp_path / "b.zip").exists()


def cut_short(gradebook):
    gradebook.write_bytes(gradebook.read_bytes()[:8192])


def made_a_folder(gradebook):
    gradebook.unlink()
    gradebook.mkdir()


@pytest.mark.parametrize("spoil", [cut_short, made_a_folder])
def test_a_damaged_gradebook_is_copied_as_it_is_and_named(graded, tmp_path, spoil):
    shutil.copytree(graded, tmp_path / "out")
    gradebook = tmp_path / "out" / "nbgrader" / "gradebook.db"
    spoil(gradebook)
    shutil.copy(graded / "nbgrader" / "gradebook.db", f"{gradebook}.damaged")
    outcome = run("backup", tmp_path / "b.zip", "--out", tmp_path / "out")
    assert outcome.exit_code == 1
    (line,) = [line for line in outcome.stderr.splitlines() if "links" not in line]
    assert line.startswith(f"Error: {gradebook} is ")
    assert line.endswith("All is copied as it is")
    outcome = run("restore", tmp_path / "b.zip", "--out", tmp_path / "again")
    assert outcome.exit_code == (spoil is cut_short)
    assert ("gradebook.db is damaged" in outcome.stderr) == (spoil is cut_short)
    assert files_of(tmp_path / "again") == files_of(tmp_path / "out")
    again = tmp_path / "again" / "nbgrader"
    assert (again / "gradebook.db.damaged").is_file()
    if spoil is cut_short:
        assert (again / "gradebook.db").read_bytes() == gradebook.read_bytes()
    else:
        assert not (again / "gradebook.db").exists()


def test_backup_leaves_out_an_uncommitted_transaction(graded, tmp_path):
    before = rows_of(graded / "nbgrader" / "gradebook.db")
    writing = sqlite3.connect(graded / "nbgrader" / "gradebook.db")
    writing.execute("BEGIN IMMEDIATE")
    writing.execute("DELETE FROM student")
    (graded / ".lock").touch()
    (graded / ".unfinished-x").mkdir()
    (graded / ".unfinished-x" / "half").touch()
    try:
        assert run("backup", tmp_path / "b.zip", "--out", graded).exit_code == 0
    finally:
        writing.rollback()
        writing.close()
        (graded / ".lock").unlink()
        (graded / ".unfinished-x" / "half").unlink()
        (graded / ".unfinished-x").rmdir()
    assert run("restore", tmp_path / "b.zip", "--out", tmp_path / "again").exit_code == 0
    assert rows_of(tmp_path / "again" / "nbgrader" / "gradebook.db") == before
    assert not list((tmp_path / "again").glob(".*"))


@pytest.mark.parametrize("name", ["back\\slash", os.fsdecode(b"latin-\xe9"), "\\udce9"])
def test_no_students_name_keeps_the_class_from_being_copied_and_restored(tmp_path, name):
    out = tmp_path / "out"
    store_results(out, [result(student) for student in (name, f"{name}.", "ada")])
    assert run("backup", tmp_path / "b.zip", "--out", out).exit_code == 0
    assert run("restore", tmp_path / "b.zip", "--out", tmp_path / "again").exit_code == 0
    assert files_of(tmp_path / "again") == files_of(out)


def test_nothing_is_written_over(graded, archive, tmp_path):
    kept = archive.read_bytes()
    assert "exists" in refused(run("backup", archive, "--out", graded))
    assert archive.read_bytes() == kept
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "grades.csv").write_text("mine")
    assert "is not empty" in refused(run("restore", archive, "--out", mine))
    assert contents(mine) == {"grades.csv": b"mine"}


def test_a_folder_that_grading_did_not_write_is_refused(tmp_path):
    assert "holds no results" in refused(run("backup", tmp_path / "b.zip", "--out", tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.proof
@pytest.mark.skipif(bool(missing_postgres()), reason=missing_postgres())
@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="no pg_dump")
def test_a_gradebook_on_postgresql_is_copied_by_the_line_that_is_printed(graded, tmp_path):
    with running_postgres() as address:
        record_in_gradebook(
            [result("ada")], graded.parent / "class", HOMEWORK,
            course_folder=tmp_path / "course", db_url=address,
        )  # fmt: skip
        driver = address.replace("postgresql:", "postgresql+psycopg:")
        outcome = run("backup", tmp_path / "b.zip", "--out", graded, "--db", driver)
        assert outcome.exit_code == 0, outcome.output
        line = next(line for line in outcome.output.splitlines() if "pg_dump" in line)
        subprocess.run(line, shell=True, check=True, timeout=600)
        folder = address.partition("host=")[2]
        subprocess.run(["createdb", "-h", folder, "-U", "ta", "again"], check=True, timeout=600)
        again = address.replace("/gradebook?", "/again?")
        restored = ["pg_restore", f"--dbname={again}", f"{tmp_path}/b.zip.dump"]
        subprocess.run(restored, check=True, timeout=600)
        counted = ["psql", again, "-tAc", "SELECT id FROM student"]
        told = subprocess.run(counted, check=True, capture_output=True, text=True, timeout=600)
    assert told.stdout.split() == ["ada"]
    with zipfile.ZipFile(tmp_path / "b.zip") as made:
        assert "nbgrader/gradebook.db" not in made.namelist()


LIST = "course-backup.json"


def rewritten(change):
    """Return a function that rewrites the backup at a path.

    ``change`` is a function that gets its members, bytes by name, and returns the new ones.
    """

    def rewrite(file):
        with zipfile.ZipFile(file) as made:
            held = {name: made.read(name) for name in made.namelist()}
        with zipfile.ZipFile(file, "w") as made:
            for name, data in change(held).items():
                made.writestr(name, data)

    return rewrite


def out_of_the_folder(held):
    files = {f"../{name}": data for name, data in held.items() if name != LIST}
    return files | {LIST: json.dumps({"format": 2, "files": [*files]})}


def damage(archive):
    """Damage an archive's compressed bytes, so that zlib fails, not only zipfile's checksum."""
    with zipfile.ZipFile(archive) as opened:
        first = max(opened.infolist(), key=lambda entry: entry.compress_size)
    data = bytearray(archive.read_bytes())
    begin = first.header_offset + 30 + len(first.filename)
    data[begin : begin + 64] = bytes(64)
    archive.write_bytes(data)


SPOILED = {
    "is no whole backup": damage,
    "not a zip file": lambda file: file.write_bytes(file.read_bytes()[:-200]),
    "has no list": rewritten(lambda held: {LIST: "[" * 100_000}),
    "does not hold the files that it lists": rewritten(lambda held: held | {"results/x": "{}"}),
    "is no place in a folder": rewritten(out_of_the_folder),
    "its form is 3": rewritten(
        lambda held: held | {LIST: held[LIST].replace(b'"format": 2', b'"format": 3')}
    ),
}


@pytest.mark.parametrize(("words", "spoil"), SPOILED.items(), ids=SPOILED)
def test_incomplete_backup_is_rejected_and_nothing_restored(archive, tmp_path, words, spoil):
    spoil(archive)
    place = tmp_path / "place"
    place.mkdir()
    assert words in refused(run("restore", archive, "--out", place / "again"))
    assert not list(place.iterdir())
