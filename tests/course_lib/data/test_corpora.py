"""Are the corpora found, whole, and read as they were written?"""

import gzip
import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from course_lib.data import corpora, corpus_readers
from course_lib.data.corpora import CORPORA, Corpus, data_folder, fetch
from course_lib.data.corpus_readers import (
    read_banking77,
    read_blimp,
    read_multi30k,
    read_tiny_shakespeare,
)
from course_lib.data.download import DownloadError, RemoteFile, WrongFileError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def real_data(course_data, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(course_data))
    return course_data


@pytest.fixture
def no_network(monkeypatch):
    """Without this a test that meant a local folder might reach for the network."""

    def refuse(remote, path, **_):
        raise DownloadError(f"asked for {remote.address}")

    monkeypatch.setattr(corpora, "download", refuse)


def tiny_corpus(content=b"text", name="file.txt"):
    remote = RemoteFile(
        address=f"https://example.org/{name}",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    return Corpus(name="tiny", title="t", page="p", licence="l", citation="c", files={name: remote})


def test_every_file_is_pinned_to_a_commit_and_a_checksum():
    for corpus in CORPORA.values():
        assert corpus.licence
        assert corpus.citation
        for name, remote in corpus.files.items():
            assert remote.address.endswith(name)
            assert len(remote.sha256) == 64
            commit = remote.address.split("/")[5]
            assert len(commit) == 40, remote.address


def test_the_folder_is_the_one_that_was_named_or_the_user_s_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("COURSE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "seq2seq-to-bert"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "seq2seq-to-bert"


def test_a_local_file_serves_in_place_of_the_network(monkeypatch, tmp_path, no_network):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    corpus = tiny_corpus()
    with pytest.raises(DownloadError, match=r"asked for https://example.org/file.txt"):
        fetch(corpus, "file.txt")
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "file.txt").write_bytes(b"text")
    assert fetch(corpus, "file.txt") == tmp_path / "tiny" / "file.txt"


def test_a_local_file_with_other_bytes_is_refused_and_kept(monkeypatch, tmp_path, no_network):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "file.txt").write_bytes(b"other")
    with pytest.raises(WrongFileError, match="Remove it, and it is fetched again"):
        fetch(tiny_corpus(), "file.txt")
    assert (tmp_path / "tiny" / "file.txt").read_bytes() == b"other"  # it may be dear to somebody


def test_what_can_not_be_read_or_is_not_there_is_told(monkeypatch, tmp_path, no_network):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    (tmp_path / "tiny" / "file.txt").mkdir(parents=True)
    with pytest.raises(DownloadError, match="can't be read: Is a directory"):
        fetch(tiny_corpus(), "file.txt")
    with pytest.raises(KeyError, match="file_name must be one of"):
        fetch(tiny_corpus(), "other.txt")


@pytest.mark.parametrize("arguments", [[], ["tinyshakespeare"], ["nothing"]])
def test_the_command_lists_and_fetches(arguments, course_data, tmp_path):
    environment = {"COURSE_DATA": str(course_data), "PATH": ""}
    command = [sys.executable, "-m", "course_lib.data.corpora", *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if arguments == ["nothing"]:
        assert ran.returncode == 2
        assert "no corpus 'nothing'; there are multi30k" in ran.stderr
    else:
        assert ran.returncode == 0, ran.stderr
        expected = "licence: CC BY 4.0" if not arguments else "tinyshakespeare/input.txt"
        assert expected in ran.stdout.replace("\\", "/")


@pytest.mark.parametrize(
    ("split", "count"), [("train", 29000), ("val", 1014), ("test_2018_flickr", 1071)]
)
def test_multi30k_has_its_pairs_in_every_direction(real_data, no_network, split, count):
    there = read_multi30k(split, "en", "de")
    assert len(there) == count
    assert there == [(src, tgt) for tgt, src in read_multi30k(split, "de", "en")]
    assert all(src and tgt and src == src.strip() and tgt == tgt.strip() for src, tgt in there)
    assert [src for src, _ in there] == [src for src, _ in read_multi30k(split, "en", "fr")]


def test_lines_of_multi30k_end_at_line_feeds_alone(monkeypatch, tmp_path):
    text = "one\u2028still one\x0b\n two \n"  # signs that splitlines takes for ends
    (tmp_path / "file.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(corpus_readers, "fetch", lambda *_: tmp_path / "file.gz")
    assert [src for src, _ in read_multi30k("val", "en", "de")] == ["one\u2028still one", "two"]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(("dev", "en", "de"), "split"), (("val", "cs", "de"), "src"), (("val", "en", "e"), "tgt")],
)
def test_multi30k_refuses_what_it_does_not_have(real_data, no_network, arguments, name):
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        read_multi30k(*arguments)


def test_banking77_has_its_questions(real_data, no_network):
    train, test = read_banking77("train"), read_banking77("test")
    assert (len(train), len(test)) == (10003, 3080)
    assert len({intent for _, intent in train}) == 77
    assert set(Counter(intent for _, intent in test).values()) == {40}
    assert train[0] == ("I am still waiting on my card?", "card_arrival")
    with pytest.raises(ValueError, match="split must be one of"):
        read_banking77("val")


def test_blimp_has_its_pairs(real_data, no_network):
    pairs = read_blimp()
    counts = Counter(pair.paradigm for pair in pairs)
    assert len(counts) == 67
    assert set(counts.values()) == {1000}
    assert list(counts) == sorted(counts)
    assert sum(pair.good == pair.bad for pair in pairs) == 7  # a slip of the corpus
    assert pairs[0].good == "Who should Derek hug after shocking Richard?"
    assert pairs[0].phenomenon == "island_effects"


def test_tiny_shakespeare_is_divided_as_nanogpt_divides_it(real_data, no_network):
    train, validation = read_tiny_shakespeare()
    assert (len(train), len(validation)) == (1003854, 111540)
    assert len(set(train + validation)) == 65
    assert train.startswith("First Citizen:\nBefore we proceed")
