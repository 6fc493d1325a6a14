"""Are the corpora found, whole, and of known terms?"""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.data.corpora import catalog
from course_lib.data.corpora.catalog import CORPORA, Corpus, data_folder, fetch
from course_lib.data.corpora.download import DownloadError, RemoteFile, WrongFileError

ROOT = Path(__file__).parents[4]


@pytest.fixture
def no_network(monkeypatch):
    """Make downloads fail, so that no test with a local folder uses the network by mistake."""

    def refuse(remote, path):
        raise DownloadError(f"asked for {remote.address}")

    monkeypatch.setattr(catalog, "download", refuse)


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


def test_unreadable_or_missing_file_is_reported(monkeypatch, tmp_path, no_network):
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
