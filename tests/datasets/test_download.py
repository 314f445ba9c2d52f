import dataclasses
import hashlib
import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import scipy.io

from ldlearn.cli import library
from ldlearn.datasets import DatasetError, check_mirrors, dataset_info, fetch_dataset
from ldlearn.datasets import fetch as fetching
from ldlearn.datasets.catalogue import Checksum, _git_blob_id, catalogue
from ldlearn.datasets.fetch import download
from ldlearn.exceptions import FileError

CONTENT = np.random.default_rng(0).bytes(300_000)
HALF = len(CONTENT) // 2
SHA256 = hashlib.sha256(CONTENT).hexdigest()
GIT = hashlib.sha1(b"blob 300000\0" + CONTENT).hexdigest()
KNOWN = Checksum(sha256=SHA256, size=len(CONTENT))
FAST_RETRIES = {"timeout": 0.25, "retries": 2, "pause": 0.01}


class Server:
    """An HTTP server that handles each request with the next behaviour of a script; the last one is
    repeated."""

    def __init__(self):
        self.script, self.n_requests = [], 0
        self.release = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.n_requests += 1
                behaviour = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                behaviour(self, server)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/file.bin"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.release.set()
        self.http.shutdown()
        self.http.server_close()


def send(handler, status, body, content_length=None, **headers):
    handler.send_response(status)
    handler.send_header(
        "Content-Length", str(len(body) if content_length is None else content_length)
    )
    for key, value in headers.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def complete(handler, _server):
    send(handler, 200, CONTENT)


def cut_off(handler, _server):
    send(handler, 200, CONTENT[:HALF], content_length=len(CONTENT))
    handler.wfile.flush()
    handler.connection.close()


def cut_off_without_length(handler, _server):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(CONTENT[:HALF])


def stall(handler, server):
    send(handler, 200, CONTENT[:1000], content_length=len(CONTENT))
    handler.wfile.flush()
    server.release.wait(10)


def no_response(_handler, server):
    server.release.wait(10)


def wrong_bytes(handler, _server):
    send(handler, 200, bytes(len(CONTENT)))


def too_many_bytes(handler, _server):
    send(handler, 200, CONTENT + b"more")


def status(code):
    return lambda handler, _server: send(handler, code, b"sorry, no file here")


@pytest.fixture
def server():
    running = Server()
    yield running
    running.close()


def fetch(server, folder, expected=KNOWN, **options):
    return download(server.url, folder, "file.bin", expected, **FAST_RETRIES | options)


def files_in(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def test_git_blob_id_matches_git(tmp_path):
    path = tmp_path / "greeting"
    path.write_bytes(b"hello\n")
    assert _git_blob_id(path) == "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
    path.write_bytes(b"")
    assert _git_blob_id(path) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.mark.parametrize(
    "expected", [KNOWN, Checksum(git=GIT), Checksum(git=GIT, size=len(CONTENT))]
)
@pytest.mark.parametrize(
    "script", [[complete], [status(503), complete], [cut_off, cut_off, complete], [stall, complete]]
)
def test_download_retries_until_the_file_is_complete(server, tmp_path, script, expected):
    server.script = list(script)
    path = fetch(server, tmp_path / "cache", expected)
    assert path == tmp_path / "cache" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert files_in(tmp_path / "cache") == ["file.bin"]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (wrong_bytes, "not the file that was meant"),
        (cut_off, "connection failed"),
        (cut_off_without_length, "not the file that was meant"),
        (status(404), "404"),
        (status(403), "403"),
        (status(503), "503"),
        (stall, "connection failed"),
        (no_response, "Timeout"),
        (too_many_bytes, "more bytes than the file has"),
    ],
)
@pytest.mark.parametrize("expected", [KNOWN, Checksum(git=GIT)])
def test_failed_download_leaves_no_file_and_names_the_reason(
    server, tmp_path, behaviour, reason, expected
):
    server.script = [behaviour]
    if expected is not KNOWN and behaviour is too_many_bytes:
        reason = "not the file that was meant"
    # A short timeout only for servers that do not respond.
    timeout = 0.05 if behaviour in (stall, no_response) else 0.25
    with pytest.raises(DatasetError, match=reason) as caught:
        fetch(server, tmp_path, expected, timeout=timeout)
    assert server.url in str(caught.value)
    assert files_in(tmp_path) == []
    server.script = [complete]
    assert fetch(server, tmp_path, expected).read_bytes() == CONTENT


def test_client_errors_are_not_retried_and_server_errors_are(server, tmp_path):
    server.script = [status(404)]
    with pytest.raises(DatasetError):
        fetch(server, tmp_path)
    assert server.n_requests == 1
    server.script = [status(503)]
    with pytest.raises(DatasetError, match="3 attempts"):
        fetch(server, tmp_path)
    assert server.n_requests == 4


def test_progress_counts_the_bytes_of_the_last_attempt(server, tmp_path):
    server.script = [cut_off, complete]
    seen = []
    fetch(server, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert max(done for done, _ in seen) == len(CONTENT)


def test_missing_server_raises(tmp_path):
    with pytest.raises(DatasetError, match="ConnectionError"):
        download("http://127.0.0.1:9/x", tmp_path, "x", KNOWN, timeout=0.4, retries=1, pause=0.01)
    assert files_in(tmp_path) == []


def test_progress_bar_on_request(server, tmp_path, capsys):
    server.script = [complete]
    fetch(server, tmp_path, progress=True)
    assert "100% of 0.3 MB" in capsys.readouterr().err


def test_concurrent_downloads(server, tmp_path):
    server.script = [complete]
    found, failed = [], []

    def work():
        try:
            found.append(fetch(server, tmp_path).read_bytes())
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert found == [CONTENT] * 4


def test_unwritable_folder_raises(server, tmp_path):
    server.script = [complete]
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(FileError, match="cache: it cannot be written"):
        fetch(server, tmp_path / "cache")


def test_catalogued_data_set_is_downloaded_and_read(server, tmp_path, monkeypatch):
    D = np.random.default_rng(0).dirichlet(np.ones(6), size=20)
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"features": np.arange(40.0).reshape(20, 2), "labels": D})
    content = buffer.getvalue()
    entry = catalogue()["s_jaffe"]
    expected = Checksum(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
    file = dataclasses.replace(entry.files[0], mirrors=(server.url,), checksum=expected)
    monkeypatch.setattr(
        fetching, "catalogue", lambda: {"s_jaffe": dataclasses.replace(entry, files=(file,))}
    )
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / project)
    server.script = [wrong_bytes]
    with pytest.raises(DatasetError, match="more bytes"):
        fetch_dataset("s-JAFFE", retries=0)
    assert dataset_info("s-JAFFE").state == "not here"
    server.script = [lambda handler, _server: send(handler, 200, content)]
    np.testing.assert_array_equal(fetch_dataset("s-JAFFE", retries=0).D, D)
    info = dataset_info("s-JAFFE")
    assert info.state == "cached"
    assert info.path == tmp_path / "ldlearn" / "SJAFFE.mat"


def test_check_mirrors_checks_all_and_keeps_no_file(server, tmp_path, monkeypatch, capsys):
    entry = catalogue()["s_jaffe"]
    addresses = [f"{server.url}?{number}" for number in range(3)]
    file = dataclasses.replace(entry.files[0], mirrors=addresses, checksum=KNOWN)
    sets = {"s_jaffe": dataclasses.replace(entry, files=(file,)), "yeast": catalogue()["yeast"]}
    monkeypatch.setattr(fetching, "catalogue", lambda: sets)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    server.script = [complete, status(404), wrong_bytes]
    checks = list(check_mirrors(timeout=1.0))
    assert [check.mirror for check in checks] == addresses
    assert {check.dataset for check in checks} == {"s_jaffe"}  # embedded sets have no mirrors
    assert checks[0].problem == ""
    assert "404" in checks[1].problem
    assert "not the file that was meant" in checks[2].problem
    assert files_in(tmp_path) == []
    server.script = [status(404), status(404), complete, status(404)]
    library.check_all_mirrors(["s-JAFFE"])  # one mirror is enough
    assert "?2 delivers the file" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(DatasetError, match="No mirror delivers s_jaffe"):
        library.check_all_mirrors(["s-JAFFE"])
    with pytest.raises(DatasetError, match="There is no data set"):
        next(check_mirrors(["nothing"]))
