"""Folders and zips as they are handed in: read within bounds, and nothing of them trusted."""

import os
import stat
import struct
import zipfile
from datetime import UTC, datetime

import pytest

from autograder.class_run.submissions import read_handed_in
from autograder.collecting import collect as collecting
from autograder.collecting import handed_in
from autograder.collecting.collect import Outcome, collect
from autograder.collecting.handed_in import SourceError, UnreadableFileError, open_source
from autograder.collecting.roster import Roster, folder_name
from tests.autograder.collecting.downloads import (
    BERLIN,
    HW,
    JULY,
    collected,
    make_folder,
    make_zip,
    outcomes,
)


def test_times_of_a_zip_are_the_courses_where_they_name_no_zone(tmp_path, into):
    stamped = zipfile.ZipInfo(f"bo/{HW}.ipynb")
    stamped.extra = struct.pack("<HHBi", 0x5455, 5, 1, 1_782_907_200)  # 12:00 UTC, as Info-ZIP does
    files = {f"ada/{HW}.ipynb": "a", stamped: "b"}
    collect(make_zip(tmp_path / "s.zip", files, JULY), HW, into, zone=BERLIN)
    assert read_handed_in(into / "ada" / HW) == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert read_handed_in(into / "bo" / HW) == datetime(2026, 7, 1, 12, tzinfo=UTC)


HOSTILE_NAMES = {
    "../../evil_1_1_x.ipynb": "it holds ..",
    "..\\..\\evil_1_1_x.ipynb": "it holds ..",
    "class\\ada/..\\..\\evil_1_1_x.ipynb": "it holds ..",
    "/etc/evil_1_1_x.ipynb": "it begins at the root folder",
    "\\\\server\\evil_1_1_x.ipynb": "it begins at the root folder",
    "C:\\evil_1_1_x.ipynb": "it names a drive",
}


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_path_that_leads_out_of_the_zip_is_not_followed(tmp_path, into, name):
    files = {name: "evil", f"good_2_2_{HW}.ipynb": "good"}
    collection = collect(make_zip(tmp_path / "s.zip", files), HW, into)
    assert collected(into) == {"good_2": "good"}
    words = f"its path leads out of the zip: {HOSTILE_NAMES[name]}"
    assert any(line.remark.endswith(words) for line in collection.lines)
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize("root", ["", "class\\", ".\\", "class\\old/"])
@pytest.mark.parametrize("system", [0, 3])
def test_backslashes_in_a_zip_part_folders(tmp_path, into, root, system):
    """Windows PowerShell 5's Compress-Archive writes them, and folders that end in one."""
    files = {f"{root}{who}\\{HW}.ipynb": who for who in ("ada", "bo")}
    files |= {f"{root}ada\\": "", f"{root}ada\\.ipynb_checkpoints\\{HW}.ipynb": "old"}
    members = {zipfile.ZipInfo(name): text for name, text in files.items()}
    for member in members:
        member.create_system = system
    told = collect(make_zip(tmp_path / "s.zip", members), HW, into)
    assert collected(into) == {"ada": "ada", "bo": "bo"}
    assert told.complete


@pytest.mark.parametrize("name", ["", "\0", "\0/"])
def test_a_member_without_a_name_stops_nobody(tmp_path, into, name):
    nameless = zipfile.ZipInfo("x" * len(name))
    path = make_zip(tmp_path / "s.zip", {nameless: "", f"good_2_2_{HW}.ipynb": "good"})
    path.write_bytes(path.read_bytes().replace(b"x" * len(name), name.encode(), 2))
    collect(path, HW, into)
    assert collected(into) == {"good_2": "good"}


@pytest.mark.parametrize("root", ["", "downloaded/"])
@pytest.mark.parametrize("made", [make_folder, make_zip])
def test_nobody_hands_in_so_much_that_nobody_is_collected(tmp_path, into, monkeypatch, made, root):
    monkeypatch.setattr(handed_in, "_MAX_FILES", 40)
    monkeypatch.setattr(handed_in, "_MOST_OF_ONE", 10)
    files = {f"{root}{HW}-{name}/{HW}.ipynb": name for name in ("ada", "bo", "cy")}
    files |= {f"{root}{HW}-bo/packages/{number}.py": "" for number in range(50)}
    files |= {f"{root}{HW}-cy/{number}.ipynb": "" for number in range(50)}
    collection = collect(made(tmp_path / "from", files), HW, into)
    assert collected(into) == {"ada": "ada", "bo": "bo"}
    (trouble,) = [line for line in collection.lines if line.outcome is Outcome.PROBLEM]
    assert trouble.student == "cy"
    assert "one of more than 10 notebooks" in trouble.remark


def test_a_file_that_turns_into_a_pipe_is_not_read(tmp_path):
    path = tmp_path / "notebook.ipynb"
    path.write_text("{}")
    with open_source(tmp_path) as (file,):
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(UnreadableFileError, match="no regular file"):
            file.read(10)


def test_links_pipes_and_secrets_are_not_read(tmp_path, into):
    secret = tmp_path / "secret.ipynb"
    secret.write_text("secret")
    source = make_folder(tmp_path / "handed-in", {f"good/{HW}.ipynb": "good"})
    for name in ("link", "pipe", "away"):
        (source / name).mkdir()
    (source / "link" / f"{HW}.ipynb").symlink_to(secret)
    os.mkfifo(source / "pipe" / f"{HW}.ipynb")
    (source / "away" / "folder.ipynb").symlink_to(tmp_path)
    told = outcomes(collect(source, HW, into))
    assert collected(into) == {"good": "good"}
    assert "symbolic link" in told["link"][1]
    assert "no ordinary file" in told["pipe"][1]
    assert "symbolic link" in told["away"][1]

    link = zipfile.ZipInfo(f"evil_1_1_{HW}.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    collection = collect(make_zip(tmp_path / "s.zip", {link: str(secret)}), HW, tmp_path / "two")
    assert "symbolic link" in outcomes(collection)["evil_1"][1]
    assert collected(tmp_path / "two") == {}


def test_a_bomb_is_read_no_further_than_the_limit(tmp_path, into, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_FILE_BYTES", 1 << 20)
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"bomb_1_1_{HW}.ipynb", bytes(300 << 20))
        archive.writestr(f"good_2_2_{HW}.ipynb", "good")
    assert path.stat().st_size < 1 << 20
    told = outcomes(collect(path, HW, into))
    assert told["bomb_1"] == (Outcome.PROBLEM, "larger than 1 MiB")
    assert collected(into) == {"good_2": "good"}


def test_damaged_and_encrypted_members_cost_nobody_else(tmp_path, into):
    path = make_zip(
        tmp_path / "s.zip",
        {f"a_1_1_{HW}.ipynb": "A" * 99, f"b_2_2_{HW}.ipynb": "B" * 99, f"c_3_3_{HW}.ipynb": "c"},
    )
    data = bytearray(path.read_bytes())
    data[data.index(b"A" * 99)] ^= 1  # the checksum no longer fits
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(f"b_2_2_{HW}".encode()))
    data[entry + 8] |= 1  # marked as encrypted
    path.write_bytes(data)
    told = outcomes(collect(path, HW, into))
    assert told["a_1"][1].startswith("damaged in the zip")
    assert told["b_2"][1].endswith("encrypted")
    assert collected(into) == {"c_3": "c"}


def test_names_in_any_encoding_and_with_anything_in_them(tmp_path, into):
    source = tmp_path / "handed-in"
    for name in (b"caf\xe9", b"<img src=x onerror=alert(1)>", b"=cmd|' A0", b"a\nb"):
        folder = os.fsencode(source) + b"/" + name
        os.makedirs(folder)
        with open(folder + f"/{HW}.ipynb".encode(), "w") as file:
            file.write("here")
    collection = collect(source, HW, into)
    assert set(collected(into)) == {"caf", "img-src-x-onerror-alert-1", "cmd-A0", "a-b"}
    assert collection.complete


def test_utf_8_names_that_a_zip_does_not_mark_as_such(tmp_path, into):
    path = make_zip(tmp_path / "mac.zip", {f"zoë_1_1_{HW}.ipynb": "zoë"})
    data = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(header) + flags + 1] &= ~0x08
    path.write_bytes(data)
    collect(path, HW, into)
    assert set(collected(into)) == {"zoë_1"}
    assert folder_name("zoe\u0308") == "zoë"


def test_what_is_no_source_is_refused(tmp_path, into):
    (tmp_path / "text.zip").write_text("no zip")
    (tmp_path / "empty").mkdir()
    for name, words in (("no", "there is no"), ("text.zip", "neither"), ("empty", "is empty")):
        with pytest.raises(SourceError, match=words):
            collect(tmp_path / name, HW, into, roster=Roster())
    assert not into.exists()
