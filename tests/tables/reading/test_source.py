"""Where tables come from: packed files, archives, addresses of the web, and files that are not what they are named."""

import bz2
import gzip
import io
import lzma
import os
import socket
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

import sparsefield as sf
from sparsefield.data import TableError
from sparsefield.tables import read_contents
from sparsefield.tables.reading import _source

TEXT = "a,b\nx,1\ny,0\nx,0\n"
FRAME = {"a": ["x", "y", "x"], "b": [1, 0, 0]}


def read(path):
    contents = read_contents(path)
    return contents.frame.to_dict(as_series=False), [str(note) for note in contents.notes]


@pytest.mark.parametrize(("pack", "ending"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")])
def test_packed_tables_are_read(tmp_path, pack, ending):
    path = tmp_path / f"table.csv{ending}"
    path.write_bytes(pack(TEXT.encode()))
    assert read(path) == (FRAME, [])
    assert read_contents(path).line_of(2) == 4
    tabs = tmp_path / f"table.tsv{ending}"
    tabs.write_bytes(pack(TEXT.replace(",", "\t").encode()))
    assert read(tabs) == (FRAME, [])
    path.write_bytes(pack(TEXT.encode() * 100)[:-5])
    with pytest.raises(TableError, match="is damaged"):
        read(path)
    path.write_text(TEXT)  # unpacked on the way here
    assert read(path) == (FRAME, [])


def make_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_an_archive_of_one_table_is_read(tmp_path):
    path = make_zip(tmp_path / "table.zip", {"data/answers.csv": TEXT, "__MACOSX/._answers.csv": "x"})
    frame, notes = read(path)
    assert frame == FRAME
    assert notes == [f"File {str(path)!r} is an archive: 'data/answers.csv' in it is read."]
    path = make_zip(tmp_path / "two.zip", {"one.csv": TEXT, "two.csv": TEXT})
    with pytest.raises(TableError, match=r"is an archive of 2 files, 'one\.csv', 'two\.csv': unpack it, and name one"):
        read(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(TableError, match="is a damaged or locked archive"):
        read(path)


def test_the_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "table.csv").write_text(TEXT)
    (tmp_path / "family.fasta").write_text(">one\nAC\n>two\nCA\n")
    assert sf.encode("~/table.csv").domain.names == ("a", "b")
    assert sf.read_table("~/table.csv").to_dict(as_series=False) == FRAME
    assert sf.encode("~/family.fasta").n_rows == 2


ANSWERS = {"/table.csv": TEXT.encode(), "/table.csv.gz": gzip.compress(TEXT.encode())}


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_text, args=(TEXT,))
    thread.start()
    contents = read_contents(path)
    thread.join()
    assert contents.frame.to_dict(as_series=False) == FRAME
    again = read_contents(contents.source, as_text=True)  # nothing comes through the pipe any more
    assert again.frame["b"].to_list() == ["1", "0", "0"]


class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = ANSWERS.get(self.path.partition("?")[0])
        self.send_response(404 if answer is None else 200)
        self.end_headers()
        self.wfile.write(answer or b"nothing here")

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_addresses_of_the_web_are_read(address, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    parquet = io.BytesIO()
    pl.DataFrame(FRAME).write_parquet(parquet)
    monkeypatch.setitem(ANSWERS, "/table.parquet", parquet.getvalue())
    for name in ("table.csv", "table.csv.gz", "table.csv?version=2", "table.parquet"):
        assert read(f"{address}/{name}") == (FRAME, [])
    assert sf.encode(f"{address}/table.csv").domain.names == ("a", "b")
    with pytest.raises(OSError, match=r"cannot be read: the server answers 404 .*Check the address"):
        read(f"{address}/tabel.csv")
    monkeypatch.setitem(ANSWERS, "/bad.csv", b"a,b\n0,1\n0\n")
    with pytest.raises(TableError, match=r"File 'http://.*/bad\.csv', line 3: 1 value"):
        read(f"{address}/bad.csv")


def test_an_address_that_does_not_answer_gets_a_sentence(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(OSError, match=r"'http://127\.0\.0\.1:9/a\.csv' cannot be read: .*refused"):
        read("http://127.0.0.1:9/a.csv")


def test_a_server_that_says_nothing_gets_a_sentence(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(_source, "_TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/a.csv"
        with pytest.raises(OSError, match=r"cannot be read: timed out\. Check the address, or download the file first"):
            read(address)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "pointer of git-lfs.*git lfs pull"),
        (b"\n<!DOCTYPE html>\n<html><body>", "is a page of the web, or XML, and not a table: download the table"),
        (b"<html>\n<table>", "is a page of the web"),
        (b"%PDF-1.7\n%", "is a PDF document"),
        (b"SQLite format 3\x00", "is a database"),
        (gzip.compress(b"RDX3\nX\n", mtime=0), r"is a file of R: write the table with write\.csv in R"),
    ],
)
@pytest.mark.parametrize("name", ["table.csv", "table.xlsx", "table.txt"])
def test_files_that_are_something_else_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        read(tmp_path / name)


def test_a_table_with_a_wrong_ending_is_read_as_what_it_is(tmp_path):
    path = tmp_path / "table.csv"
    pl.DataFrame(FRAME).write_parquet(path)
    assert read(path) == (FRAME, [f"File {str(path)!r} is a parquet file, and is read as one."])
    pl.DataFrame(FRAME).write_excel(path)
    assert read(path) == (FRAME, [f"File {str(path)!r} is a workbook, and is read as one."])
    book = tmp_path / "table.xls"  # as web sites call text that Excel shall open
    book.write_text(TEXT.replace(",", "\t"))
    frame, notes = read(book)
    assert frame == FRAME
    assert notes[0] == f"File {str(book)!r} is text and no workbook, and is read as text."
    pl.DataFrame(FRAME).write_ipc(path)
    assert read(path) == (FRAME, [f"File {str(path)!r} is an Arrow file, and is read as one."])


@pytest.mark.parametrize(("given", "said"), [("-", "from /dev/stdin"), ("ftp://host/a.csv", "nor an address that is")])
def test_what_is_no_file_is_told_what_is_read(given, said):
    with pytest.raises(FileNotFoundError, match=said):
        sf.read_table(given)
