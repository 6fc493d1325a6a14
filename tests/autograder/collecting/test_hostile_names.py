"""Names that students choose: none takes another's place, and none ends the collection."""

import io
import os
import struct
import subprocess
import unicodedata
import zipfile
from datetime import UTC, datetime

import pytest

from autograder.collecting.collect import Outcome, collect
from autograder.collecting.handed_in import SourceError
from autograder.collecting.lms_names import READERS, read_canvas
from autograder.collecting.owners import MetadataError, read_metadata
from autograder.collecting.roster import TableError, folder_name, read_roster
from tests.autograder.collecting.downloads import (
    AUGUST,
    HW,
    JULY,
    collected,
    make_folder,
    make_zip,
    outcomes,
)

MOODLE = "_assignsubmission_file_"


def roster_of(tmp_path, rows):
    (tmp_path / "class.csv").write_text("lms_id,student\n" + rows, encoding="utf-8")
    return read_roster(tmp_path / "class.csv")


# ---- whose a file is ----


@pytest.mark.parametrize("between", ["", "/"], ids=["flat", "folders"])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("kind", ["file", "onlinetext"])
def test_a_full_name_that_holds_anothers_marker_replaces_nobody(
    tmp_path, into, between, listed, kind
):
    roster = roster_of(tmp_path, "Ada Lovelace,ada\nEve,eve\n") if listed else None
    evil = f"Ada Lovelace_123456_assignsubmission_{kind}_x_99{MOODLE}{between}{HW}.ipynb"
    files = {
        f"Ada Lovelace_123456{MOODLE}{between}{HW}.ipynb": ("ada", JULY),
        evil: ("eve", AUGUST),
        f"Bo_7{MOODLE}{between}{HW}.ipynb": "bo",
    }
    collection = collect(make_zip(tmp_path / "m.zip", files), HW, into, roster=roster)
    assert {"ada", "bo"} <= set(collected(into).values())
    assert collected(into)["ada" if listed else "Ada-Lovelace"] == "ada"
    assert "eve" not in collected(into).values()
    (line,) = [line for line in collection.lines if line.source == evil]
    assert line.outcome is Outcome.PROBLEM
    assert "Ada Lovelace_123456 or of" in line.remark
    assert not collection.complete


def test_a_file_that_was_downloaded_and_handed_in_again_is_its_owners(tmp_path, into):
    again = f"Ada_1{MOODLE}Ada_1{MOODLE}{HW}.ipynb"
    collect(make_zip(tmp_path / "m.zip", {again: "ada", f"Bo_2{MOODLE}x.ipynb": "b"}), HW, into)
    assert collected(into) == {"Ada": "ada", "Bo": "b"}


def test_who_has_just_the_name_gets_the_folder(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"!ada/{HW}.ipynb": "eve", f"ada/{HW}.ipynb": "ada"})
    collection = collect(source, HW, into)
    assert collected(into) == {"ada": "ada"}
    assert [line.remark for line in collection.lines if line.outcome is Outcome.PROBLEM] == [
        "!ada and ada would share a folder; tell them apart by --roster"
    ]


def metadata(**people):
    return "".join(
        f"submission_{n}:\n  :submitters:\n  - {{':name': '{name}', ':email': '{email}'}}\n"
        for n, (name, email) in enumerate(people.values(), start=1)
    )


def test_who_is_listed_gets_the_folder(tmp_path, into):
    roster = roster_of(tmp_path, "ada@x.org,ada\n")
    files = {
        "submission_metadata.yml": metadata(eve=("ada", ""), ada=("Ada", "ada@x.org")),
        f"submission_1/{HW}.ipynb": ("eve", AUGUST),
        f"submission_2/{HW}.ipynb": "ada",
    }
    collection = collect(make_zip(tmp_path / "g.zip", files), HW, into, roster=roster)
    assert collected(into) == {"ada": "ada"}
    assert not collection.complete


@pytest.mark.parametrize("name", ["ada", "ADA", "ada@x.org"])
def test_nobody_is_another_by_a_name_of_ones_own(tmp_path, into, name):
    roster = roster_of(tmp_path, "ada@x.org,ada\n")
    email = "" if name.lower() == "ada" else "eve@x.org"
    files = {
        "submission_metadata.yml": metadata(eve=(name, email), bo=("Bo", "bo@x.org")),
        f"submission_1/{HW}.ipynb": "eve",
        f"submission_2/{HW}.ipynb": "bo",
    }
    collect(make_zip(tmp_path / "g.zip", files), HW, into, roster=roster)
    assert "ada" not in collected(into)
    assert "bo@x.org" in collected(into)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada", "Ada"),
        ("zo\u00eb", "zoe\u0308"),
        ("stra\u00dfe", "STRASSE"),
        ("\uff41da", "ada"),
        ("ada ", "ada."),
        ("ada", "ada-"),
        ("x" * 80 + "a", "x" * 80 + "b"),
        ("\U00020000" * 60 + "a", "\U00020000" * 60 + "b"),
    ],
)
def test_names_that_become_one_are_told(tmp_path, into, one, other):
    files = {f"{one}/{HW}.ipynb": "1", f"{other}/{HW}.ipynb": "2", f"bo/{HW}.ipynb": "bo"}
    collection = collect(make_zip(tmp_path / "s.zip", files), HW, into)
    assert [line.outcome for line in collection.lines].count(Outcome.PROBLEM) == 1
    assert collected(into)["bo"] == "bo"
    assert len(collected(into)) == 2


def test_a_name_ends_where_it_ends_and_not_at_a_nul(tmp_path, into):
    name = f"ada_1_9_{HW}.ipynb"
    path = make_zip(tmp_path / "s.zip", {f"ada_1_2_{HW}.ipynb": "ada", f"{name}XYZé": "eve"}, JULY)
    data = path.read_bytes().replace(b"XYZ", b"\0YZ")
    path.write_bytes(data)
    told = outcomes(collect(path, HW, into))
    assert collected(into) == {"ada_1": "ada"}
    assert told["ada_1"] == (Outcome.COLLECTED, "1 other files stay where they are")


# ---- what a name may cost ----

LONG = {
    "canvas": f"{'x' * 60_000}_1_2_{HW}.ipynb",
    "canvas upload": f"eve_1_{'9' * 5_000}_{HW}.ipynb",
    "canvas user": f"eve_{'9' * 5_000}_1_{HW}.ipynb",
    "moodle": f"{'x' * 60_000}_1{MOODLE}{HW}.ipynb",
    "moodle number": f"eve_{'9' * 5_000}{MOODLE}{HW}.ipynb",
    "moodle letters of four bytes": f"{chr(0x20000) * 90}_1{MOODLE}{HW}.ipynb",
    "gradescope": f"submission_{'9' * 5_000}/{HW}.ipynb",
    "folder": f"{chr(0x1D400) * 90}/{HW}.ipynb",
    "folder of marks": "e" + "\u0301" * 30_000 + f"/{HW}.ipynb",
    "deep": "eve/" + "d/" * 20_000 + f"{HW}.ipynb",
    "again": f"eve_1_2_{HW} ({'9' * 5_000}).ipynb",
    "digits of another script": f"eve_1_{chr(0x663) * 30}_{HW}.ipynb",
    "homework": f"eve_1_2_hw{'9' * 5_000}.ipynb",
}


@pytest.mark.parametrize("name", LONG.values(), ids=LONG)
def test_no_name_ends_the_collection_for_others(tmp_path, into, name):
    good = {
        f"ada_1{MOODLE}{HW}.ipynb": "ada",
        f"zoe_3{MOODLE}{HW}.ipynb": "zoe",
    }
    canvas = {f"ada_1_1_{HW}.ipynb": "ada", f"zoe_3_1_{HW}.ipynb": "zoe"}
    folders = {f"ada/{HW}.ipynb": "ada", f"zoe/{HW}.ipynb": "zoe"}
    files = good if MOODLE in name else folders if "/" in name else canvas
    collection = collect(make_zip(tmp_path / "s.zip", {name: "eve", **files}), HW, into)
    assert {"ada", "zoe"} <= set(collected(into).values())
    assert any(line.source == name for line in collection.lines)
    assert all(len(os.fsencode(student)) < 256 for student in collected(into))


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u4e2d", "\U0001d400", "e\u0301\u0302"])
def test_a_folder_fits_every_file_system(letter):
    for text in (letter * 500, letter * 500 + "_1234567"):
        name = folder_name(text)
        assert 20 < len(os.fsencode(name)) <= 200
        assert folder_name(name) == name == unicodedata.normalize("NFC", name)
    assert folder_name(letter * 500 + "_1234567").endswith("_1234567")


def test_a_place_that_cant_be_written_costs_one_student(tmp_path, into):
    into.mkdir()
    (into / "bo").write_text("a file")
    (into / "cy" / HW / f"{HW}.ipynb").mkdir(parents=True)
    source = make_folder(tmp_path / "in", {f"{s}/{HW}.ipynb": s for s in ("ada", "bo", "cy", "di")})
    told = outcomes(collect(source, HW, into))
    assert [told[s][0].value for s in ("ada", "bo", "cy", "di")] == [
        "collected", "problem", "problem", "collected",
    ]  # fmt: skip


# ---- times ----


@pytest.mark.parametrize("seconds", [-(10**10), 10**12, 4 * 10**11])
def test_a_file_of_an_absurd_time_is_collected(tmp_path, into, seconds):
    source = make_folder(tmp_path / "in", {f"ada/{HW}.ipynb": "ada"})
    try:
        os.utime(source / "ada" / f"{HW}.ipynb", (seconds, seconds))
    except OSError:
        pytest.skip("this file system takes no such time")
    collect(source, HW, into)
    assert collected(into) == {"ada": "ada"}


@pytest.mark.parametrize(
    "created",
    [
        "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00+23:59",
        "0001-01-01 00:00:00 UTC",
        "'99999-01-01'",
        "[[]]",
        "9" * 5_000,
        ".inf",
    ],
)
def test_an_absurd_time_of_gradescopes_counts_for_none(tmp_path, into, created):
    text = f"submission_1:\n  :submitters:\n  - :sid: '1'\n  :created_at: {created}\n"
    files = {"submission_metadata.yml": text, f"submission_1/{HW}.ipynb": "ada"}
    collect(make_zip(tmp_path / "g.zip", files), HW, into)
    assert set(collected(into).values()) == {"ada"}


@pytest.mark.parametrize(
    "name", ["2026-02-31", "2026-99-99", "!binary |-\n      AAEC/w==", "!float x", "=", "0x_", "~"]
)
def test_a_name_that_looks_like_something_else_is_a_name(name):
    text = f"a:\n  :submitters:\n  - :name: {name}\n    :sid: 012\n    :email: a@b\n"
    text += (
        "  :created_at: 2026-09-08 20:16:24.123456789 Z\n  :r: !ruby/object:Foo\n    x: !map:X {}\n"
    )
    found = read_metadata(text.encode())["a"]
    (who,) = found.submitters
    assert (who.name[:4], who.sid) == (name.split(" ")[-1].strip()[:4] or name, "012")
    assert found.created == datetime(2026, 9, 8, 20, 16, 24, 123456, tzinfo=UTC)


def test_a_time_of_gradescopes_is_told_as_utc():
    text = b"s:\n  :submitters: []\n  :created_at: '2026-09-08T20:16:24+02:00'\n"
    assert read_metadata(text)["s"].created == datetime(2026, 9, 8, 18, 16, 24, tzinfo=UTC)
    assert read_metadata(text)["s"].created.tzinfo is UTC


BOMB = "a: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 30))


@pytest.mark.parametrize(
    "submitter", ["{':sid': *a29}", "{':name': *a29}", f"{{':sid': 0x{'f' * 5_000}}}", "*a29", "7"]
)
def test_metadata_that_would_have_no_end_costs_nothing(submitter):
    try:
        records = read_metadata(f"{BOMB}s:\n  :submitters: [{submitter}]\n".encode())
    except MetadataError:
        return
    assert all(len(s.sid) <= len(submitter) for s in records["s"].submitters)


# ---- archives ----


def test_members_that_are_there_twice_are_one_students(tmp_path, into):
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"bo_2_1_{HW}.ipynb", "bo")
        archive.writestr(f"ada_1_1_{HW}.ipynb", "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(f"ada_1_1_{HW}.ipynb", "second")
    told = outcomes(collect(path, HW, into))
    assert told["ada_1"] == (Outcome.COLLECTED, f"{HW}.ipynb of 2 notebooks, not {HW}.ipynb")
    assert collected(into)["bo_2"] == "bo"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9, 99])
def test_what_unpacks_without_a_limit_is_not_unpacked(tmp_path, into, method):
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        real = method if method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA) else zipfile.ZIP_STORED
        archive.writestr(f"eve_1_1_{HW}.ipynb", "eve" * 99, compress_type=real)
        archive.writestr(f"bo_2_1_{HW}.ipynb", "bo")
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, data.index(b"PK\1\2") + 10, method)
    path.write_bytes(data)
    told = outcomes(collect(path, HW, into))
    assert told["eve_1"][0] is Outcome.PROBLEM
    assert collected(into) == {"bo_2": "bo"}


def test_a_size_that_no_file_has_is_read_no_further_than_the_limit(tmp_path, into):
    path = make_zip(tmp_path / "s.zip", {f"eve_1_1_{HW}.ipynb": "eve", f"b_2_1_{HW}.ipynb": "b"})
    data = bytearray(path.read_bytes())
    struct.pack_into("<II", data, data.index(b"PK\1\2") + 20, 0xFFFFFFFE, 0xFFFFFFFE)
    path.write_bytes(data)
    told = outcomes(collect(path, HW, into))
    assert told["eve_1"][0] is Outcome.PROBLEM
    assert collected(into) == {"b_2": "b"}


def test_a_name_that_is_no_utf_8_is_told_in_one_sentence(tmp_path, into):
    path = make_zip(tmp_path / "s.zip", {f"é_1_1_{HW}.ipynb": "e"})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(SourceError, match="damaged zip"):
        collect(path, HW, into)


def test_any_cut_of_a_zip_is_refused_or_read(tmp_path, into):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"ada_1_1_{HW}.ipynb", "ada")
    whole = buffer.getvalue()
    start = whole.index(b"PK\1\2")
    for place in range(start, len(whole)):
        data = bytearray(whole)
        data[place] ^= 0xFF
        (tmp_path / "s.zip").write_bytes(data)
        try:
            collect(tmp_path / "s.zip", HW, into)
        except SourceError:
            continue


def test_folders_deeper_than_python_walks_cost_only_whose_they_are(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"{who}/{HW}.ipynb": who for who in ("ada", "zoe")})
    deep = os.open(source / "ada", os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("d", dir_fd=deep)
        deep, above = os.open("d", os.O_RDONLY, dir_fd=deep), deep
        os.close(above)
    os.close(deep)
    try:
        done = collect(source, HW, into)
    finally:
        subprocess.run(["rm", "-rf", source / "ada" / "d"], check=True)  # Python can't
    assert collected(into) == {"ada": "ada", "zoe": "zoe"}
    assert [bool(line.remark) for line in done.lines] == [True, False]


# ---- the class list ----


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lms_id,student\n1," + "x" * 200_000 + "\n", "can't be read"),
        ("lms_id,student\n" + "1,a\n" * 3_000_000, "larger than 10 MiB"),
        ("lms_id,student\n1,zo\u00eb\n2,zoe\u0308\n", "is that of line 2 too"),
        ("lms_id,student\n1,ada\n2,\uff41da\n", "is that of line 2 too"),
        ("lms_id,student\nzo\u00eb,a\nzoe\u0308,b\n", "occurs twice"),
    ],
)
def test_a_class_list_that_says_two_things_is_refused(tmp_path, text, words):
    with pytest.raises(TableError, match=words):
        roster_of(tmp_path, text.partition("\n")[2])


@pytest.mark.parametrize("read", READERS.values())
@pytest.mark.parametrize(
    "name", ["", "_", "_1_assignsubmission_file_", "\0", "a" * 10**6, "1_" * 10**5]
)
def test_any_name_is_read_or_is_not(read, name):
    read((name,), HW)
    read((name, name), HW)


def test_a_name_that_may_be_read_in_many_ways_is_read_in_none():
    few, many = f"eve{'_1_2' * 3}_{HW}.ipynb", f"eve{'_1_2' * 9_000}_{HW}.ipynb"
    assert 1 < len(read_canvas((few,), HW)) < 10
    assert read_canvas((many,), HW) == []  # each would hold the name once more
