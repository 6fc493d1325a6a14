"""Names, archives and files that students choose: none takes another's place or ends the run."""

import io
import os
import stat
import struct
import subprocess
import unicodedata
import zipfile
from datetime import UTC, datetime

import pytest

from autograder.class_run.submissions import read_handed_in
from autograder.collecting import collect as collecting
from autograder.collecting import handed_in
from autograder.collecting.collect import Outcome, collect
from autograder.collecting.handed_in import SourceError, UnreadableFileError, open_source
from autograder.collecting.lms_names import read_canvas
from autograder.collecting.owners import MetadataError, read_metadata
from autograder.collecting.roster import folder_name
from tests.autograder.collecting.downloads import (
    AUGUST,
    BERLIN,
    HW,
    JULY,
    collected,
    make_folder,
    make_zip,
    outcomes,
    problems,
)

IPYNB = f"{HW}.ipynb"
MOODLE = "_assignsubmission_file_"


# ---- owners ----


@pytest.mark.parametrize("between", ["", "/"], ids=["flat", "folders"])
@pytest.mark.parametrize("listed", ["", "Ada Lovelace,ada,\nEve,eve,\n"])
def test_name_with_anothers_marker_replaces_nobody(gather, into, between, listed):
    evil = f"Ada Lovelace_123456_assignsubmission_onlinetext_x_99{MOODLE}{between}{IPYNB}"
    files = {
        f"Ada Lovelace_123456{MOODLE}{between}{IPYNB}": ("ada", JULY),
        evil: ("eve", AUGUST),
        f"Bo_7{MOODLE}{between}{IPYNB}": "bo",
    }
    told = problems(gather(files, listed))
    assert collected(into)["ada" if listed else "Ada-Lovelace"] == "ada"
    assert sorted(collected(into).values()) == ["ada", "bo"]
    assert "Ada Lovelace_123456 or of" in told[evil]


def gradescope(**people):
    records = "".join(
        f"submission_{n}:\n  :submitters:\n  - {{':name': '{name}', ':email': '{email}'}}\n"
        for n, (name, email) in enumerate(people.values(), start=1)
    )
    files = {f"submission_{n}/{IPYNB}": who for n, who in enumerate(people, start=1)}
    return files | {"submission_metadata.yml": records}


@pytest.mark.parametrize(
    ("eve", "email"), [("ada", ""), ("ADA", ""), ("ada@x.org", "eve@x.org"), ("ada", "ADA@y.org")]
)
def test_name_of_ones_own_does_not_lead_to_anothers_folder(gather, into, eve, email):
    files = gradescope(eve=(eve, email), bo=("Bo", "bo@x.org"), ada=("Ada", "ada@x.org"))
    gather(files, "ada@x.org,ada,\n")
    assert collected(into)["ada"] == "ada"
    assert collected(into)["bo@x.org"] == "bo"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada", "Ada"),
        ("ada", "!ada"),
        ("zo\u00eb", "zoe\u0308"),
        ("stra\u00dfe", "STRASSE"),
        ("\uff41da", "ada"),
        ("ada ", "ada."),
        ("a b", "a-b"),
        ("x" * 80 + "a", "x" * 80 + "b"),
        ("\U00020000" * 60 + "a", "\U00020000" * 60 + "b"),
    ],
)
def test_two_names_never_share_a_folder(gather, into, one, other):
    told = gather({f"{one}/{IPYNB}": "1", f"{other}/{IPYNB}": "2", f"bo/{IPYNB}": "bo"})
    (remark,) = problems(told).values()
    assert "would share a folder; tell them apart by --roster" in remark
    assert collected(into)["bo"] == "bo"
    assert len(collected(into)) == 2
    if other == "!ada":  # the name that needs no change gets the folder
        assert "1" in collected(into).values()


def test_nul_in_a_name_does_not_end_it(gather, into, tmp_path):
    files = {f"ada_1_2_{IPYNB}": "ada", f"ada_1_9_{IPYNB}XYZé": "eve"}
    path = make_zip(tmp_path / "s.zip", files, JULY)
    path.write_bytes(path.read_bytes().replace(b"XYZ", b"\0YZ"))
    told = outcomes(collect(path, HW, into))
    assert collected(into) == {"ada_1": "ada"}
    assert told["ada_1"] == (Outcome.COLLECTED, "1 other files stay where they are")


# ---- names ----

ODD_NAMES = {
    "canvas": f"{'x' * 60_000}_1_2_{IPYNB}",
    "canvas parts": f"{'1_' * 30_000}1_2_{IPYNB}",
    "canvas upload": f"eve_1_{'9' * 5_000}_{IPYNB}",
    "canvas user": f"eve_{'9' * 5_000}_1_{IPYNB}",
    "moodle": f"{'x' * 60_000}_1{MOODLE}{IPYNB}",
    "moodle number": f"eve_{'9' * 5_000}{MOODLE}{IPYNB}",
    "moodle letters of four bytes": f"{chr(0x20000) * 90}_1{MOODLE}{IPYNB}",
    "gradescope": f"submission_{'9' * 5_000}/{IPYNB}",
    "folder": f"{chr(0x1D400) * 90}/{IPYNB}",
    "folder of marks": "e" + "\u0301" * 30_000 + f"/{IPYNB}",
    "folder of dots": f"---/{IPYNB}",
    "deep": "eve/" + "d/" * 20_000 + IPYNB,
    "again": f"eve_1_2_{HW} ({'9' * 5_000}).ipynb",
    "digits of another script": f"eve_1_{chr(0x663) * 30}_{IPYNB}",
    "homework": f"eve_1_2_hw{'9' * 5_000}.ipynb",
}


@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES)
def test_odd_name_does_not_stop_the_others(gather, into, name):
    forms = [f"{{}}_1{MOODLE}{IPYNB}", f"{{}}/{IPYNB}", f"{{}}_1_1_{IPYNB}"]
    form = forms[0] if MOODLE in name else forms[1] if "/" in name else forms[2]
    told = gather({name: "eve", **{form.format(who): who for who in ("ada", "zoe")}})
    assert {"ada", "zoe"} <= set(collected(into).values())
    assert any(line.source == name for line in told.lines)
    assert all(len(os.fsencode(student)) < 256 for student in collected(into))


def test_name_with_very_many_readings_has_none():
    few, many = f"eve{'_1_2' * 3}_{IPYNB}", f"eve{'_1_2' * 9_000}_{IPYNB}"
    assert 1 < len(read_canvas((few,), HW)) < 10
    assert read_canvas((many,), HW) == []  # each would hold the name once more


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u4e2d", "\U0001d400", "e\u0301\u0302"])
def test_folder_name_fits_every_file_system(letter):
    for text in (letter * 500, letter * 500 + "_1234567"):
        name = folder_name(text)
        assert 20 < len(os.fsencode(name)) <= 200
        assert folder_name(name) == name == unicodedata.normalize("NFC", name)
    assert folder_name(letter * 500 + "_1234567").endswith("_1234567")
    assert folder_name("x" * 75 + "_1234567 and more") == "x" * 75
    assert folder_name("x" * 75 + "_" + "1" * 30) == "x" * 75


def test_folders_named_in_any_encoding_are_collected(tmp_path, into):
    source = tmp_path / "handed-in"
    for name in (b"caf\xe9", b"<img src=x onerror=alert(1)>", b"=cmd|' A0", b"a\nb"):
        folder = os.fsencode(source) + b"/" + name
        os.makedirs(folder)
        with open(folder + f"/{IPYNB}".encode(), "w") as file:
            file.write("here")
    assert collect(source, HW, into).complete
    assert set(collected(into)) == {"caf", "img-src-x-onerror-alert-1", "cmd-A0", "a-b"}


def test_utf_8_names_are_read_where_a_zip_does_not_mark_them(tmp_path, into):
    path = make_zip(tmp_path / "mac.zip", {f"zoë_1_1_{IPYNB}": "zoë"})
    data = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(header) + flags + 1] &= ~0x08
    path.write_bytes(data)
    collect(path, HW, into)
    assert set(collected(into)) == {"zoë_1"}


# ---- times and metadata ----


def test_zip_times_are_the_courses_where_they_name_no_zone(gather, into):
    stamped = zipfile.ZipInfo(f"bo/{IPYNB}")
    stamped.extra = struct.pack("<HHBi", 0x5455, 5, 1, 1_782_907_200)  # 12:00 UTC, as Info-ZIP does
    gather({f"ada/{IPYNB}": "a", stamped: "b"}, zone=BERLIN)
    assert read_handed_in(into / "ada" / HW) == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert read_handed_in(into / "bo" / HW) == datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("seconds", [-(10**10), 10**12, 4 * 10**11])
def test_file_of_an_absurd_time_is_collected(tmp_path, into, seconds):
    source = make_folder(tmp_path / "in", {f"ada/{IPYNB}": "ada"})
    try:
        os.utime(source / "ada" / IPYNB, (seconds, seconds))
    except OSError:
        pytest.skip("this file system takes no such time")
    collect(source, HW, into)
    assert collected(into) == {"ada": "ada"}


@pytest.mark.parametrize(
    ("created", "moment"),
    [
        ("2026-09-08 20:16:24.123456789 Z", datetime(2026, 9, 8, 20, 16, 24, 123456, tzinfo=UTC)),
        ("'2026-09-08T20:16:24+02:00'", datetime(2026, 9, 8, 18, 16, 24, tzinfo=UTC)),
        ("9999-12-31T23:59:59-23:59", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("0001-01-01 00:00:00 UTC", None),
        ("'99999-01-01'", None),
        ("[[]]", None),
        ("9" * 5_000, None),
        (".inf", None),
    ],
)
@pytest.mark.parametrize("name", ["2026-02-31", "!binary |-\n      AAEC/w==", "!float x", "=", "~"])
def test_gradescope_times_are_read_and_names_stay_texts(created, moment, name):
    text = f"a:\n  :submitters:\n  - :name: {name}\n    :sid: 012\n  :created_at: {created}\n"
    record = read_metadata(f"{text}  :r: !ruby/object:Foo\n    x: !map:X {{}}\n".encode())["a"]
    (who,) = record.submitters
    assert (who.name[:4], who.sid) == (name.split(" ")[-1].strip()[:4] or name, "012")
    assert record.created == moment


BOMB = "a: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 30))


@pytest.mark.parametrize(
    "submitter", ["{':sid': *a29}", "{':name': *a29}", f"{{':sid': 0x{'f' * 5_000}}}", "*a29", "7"]
)
def test_metadata_bomb_costs_nothing(submitter):
    try:
        records = read_metadata(f"{BOMB}s:\n  :submitters: [{submitter}]\n".encode())
    except MetadataError:
        return
    assert all(len(s.sid) <= len(submitter) for s in records["s"].submitters)


# ---- zips ----

LEADING_OUT = {
    "../../evil_1_1_x.ipynb": "it holds ..",
    "..\\..\\evil_1_1_x.ipynb": "it holds ..",
    "class\\ada/..\\..\\evil_1_1_x.ipynb": "it holds ..",
    "/etc/evil_1_1_x.ipynb": "it begins at the root folder",
    "\\\\server\\evil_1_1_x.ipynb": "it begins at the root folder",
    "C:\\evil_1_1_x.ipynb": "it names a drive",
}


@pytest.mark.parametrize("name", LEADING_OUT)
def test_path_that_leads_out_of_the_zip_is_not_followed(gather, into, tmp_path, name):
    told = gather({name: "evil", f"good_2_2_{IPYNB}": "good"})
    assert collected(into) == {"good_2": "good"}
    words = f"its path leads out of the zip: {LEADING_OUT[name]}"
    assert any(line.remark.endswith(words) for line in told.lines)
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize("root", ["", "class\\", ".\\", "class\\old/"])
@pytest.mark.parametrize("system", [0, 3])
def test_backslashes_in_a_zip_part_folders(gather, into, root, system):
    """Compress-Archive of Windows PowerShell 5 writes backslashes, also at the end of folders."""
    files = {f"{root}{who}\\{IPYNB}": who for who in ("ada", "bo")}
    files |= {f"{root}ada\\": "", f"{root}ada\\.ipynb_checkpoints\\{IPYNB}": "old"}
    members = {zipfile.ZipInfo(name): text for name, text in files.items()}
    for member in members:
        member.create_system = system
    assert gather(members).complete
    assert collected(into) == {"ada": "ada", "bo": "bo"}


@pytest.mark.parametrize("name", ["", "\0", "\0/"])
def test_zip_member_without_a_name_is_skipped(tmp_path, into, name):
    nameless = zipfile.ZipInfo("x" * len(name))
    path = make_zip(tmp_path / "s.zip", {nameless: "", f"good_2_2_{IPYNB}": "good"})
    path.write_bytes(path.read_bytes().replace(b"x" * len(name), name.encode(), 2))
    collect(path, HW, into)
    assert collected(into) == {"good_2": "good"}


def test_bomb_is_read_no_further_than_the_limit(tmp_path, into, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_FILE_BYTES", 1 << 20)
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"bomb_1_1_{IPYNB}", bytes(300 << 20))
        archive.writestr(f"good_2_2_{IPYNB}", "good")
    told = problems(collect(path, HW, into))
    assert told == {"bomb_1": "larger than 1 MiB"}
    assert collected(into) == {"good_2": "good"}


def patch_entry(data: bytearray, offset: int, form: str, *values: int) -> None:
    """Overwrite bytes of a zip's first central-directory entry, from ``offset`` in that entry.

    ``form`` is the format of the ``values`` for ``struct``.
    """
    struct.pack_into(form, data, data.index(b"PK\1\2") + offset, *values)


DAMAGED = {
    "checksum": (lambda d: d.__setitem__(d.index(b"eve" * 33), 0), "damaged in the zip"),
    "encrypted": (lambda d: patch_entry(d, 8, "<H", 1), "encrypted"),
    "size": (lambda d: patch_entry(d, 20, "<II", 0xFFFFFFFE, 0xFFFFFFFE), "damaged in the zip"),
    **{
        f"method {number}": (lambda d, n=number: patch_entry(d, 10, "<H", n), "compressed in a way")
        for number in (9, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 99)
    },
}


@pytest.mark.parametrize(("damage", "words"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_member_costs_nobody_else(tmp_path, into, damage, words):
    path = make_zip(tmp_path / "s.zip", {f"eve_1_1_{IPYNB}": "eve" * 33, f"b_2_1_{IPYNB}": "b"})
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)
    (remark,) = problems(collect(path, HW, into)).values()
    assert words in remark
    assert collected(into) == {"b_2": "b"}


def test_zip_with_any_byte_changed_is_rejected_or_read(tmp_path, into):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"ada_é_1_{IPYNB}", "ada")
    whole = buffer.getvalue()
    for place in range(whole.index(b"PK\1\2"), len(whole)):
        data = bytearray(whole)
        data[place] ^= 0xFF
        (tmp_path / "s.zip").write_bytes(data)
        try:
            collect(tmp_path / "s.zip", HW, into)
        except SourceError:
            continue


# ---- folders ----


@pytest.mark.parametrize("root", ["", "downloaded/"])
@pytest.mark.parametrize("made", [make_folder, make_zip])
def test_very_many_files_of_one_student_cost_only_that_student(
    gather, into, monkeypatch, made, root
):
    monkeypatch.setattr(handed_in, "_MAX_FILES", 40)
    monkeypatch.setattr(handed_in, "_MOST_OF_ONE", 10)
    files = {f"{root}{HW}-{name}/{IPYNB}": name for name in ("ada", "bo", "cy")}
    files |= {f"{root}{HW}-bo/packages/{number}.py": "" for number in range(50)}
    files |= {f"{root}{HW}-cy/{number}.ipynb": "" for number in range(50)}
    told = problems(gather(files, made=made))
    assert collected(into) == {"ada": "ada", "bo": "bo"}
    assert "one of more than 10 notebooks" in told["cy"]


def test_file_that_turns_into_a_pipe_is_not_read(tmp_path):
    path = tmp_path / "notebook.ipynb"
    path.write_text("{}")
    with open_source(tmp_path) as (file,):
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(UnreadableFileError, match="no regular file"):
            file.read(10)


def test_links_and_pipes_are_not_read(gather, tmp_path, into):
    secret = tmp_path / "secret.ipynb"
    secret.write_text("secret")
    source = make_folder(tmp_path / "handed-in", {f"good/{IPYNB}": "good"})
    for name in ("link", "pipe", "away"):
        (source / name).mkdir()
    (source / "link" / IPYNB).symlink_to(secret)
    os.mkfifo(source / "pipe" / IPYNB)
    (source / "away" / "folder.ipynb").symlink_to(tmp_path)
    told = problems(collect(source, HW, into))
    assert collected(into) == {"good": "good"}
    assert "symbolic link" in told["link"]
    assert "no ordinary file" in told["pipe"]
    assert "symbolic link" in told["away"]

    link = zipfile.ZipInfo(f"evil_1_1_{IPYNB}")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    told = problems(gather({link: str(secret)}, target=tmp_path / "two"))
    assert "symbolic link" in told["evil_1"]


def test_very_deep_folders_cost_only_their_student(tmp_path, into):
    source = make_folder(tmp_path / "in", {f"{who}/{IPYNB}": who for who in ("ada", "zoe")})
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
