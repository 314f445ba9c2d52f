"""The atomic writer: complete files or none, no temporary files left, errors that name the file."""

import errno
import os
import stat
import sys

import pytest

from ldlearn.exceptions import FileError
from ldlearn.tables.files import atomic_write, write_file


def file_names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "a.bin"
    with atomic_write(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert file_names(tmp_path) == ["a.bin"]


def interrupted(*_):
    raise KeyboardInterrupt


def test_failing_block_keeps_the_old_file(tmp_path):
    path = write_file(tmp_path / "a.txt", "old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
        interrupted(file.write(b"new"))
    assert path.read_text() == "old"
    assert file_names(tmp_path) == ["a.txt"]


# A file that is interrupted before it is closed raises a ResourceWarning in garbage collection.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupt_at_any_line_leaves_a_complete_file_or_none(tmp_path):
    """Raise KeyboardInterrupt before each line that runs while a file is written, one line per
    attempt."""

    def write_until(line):
        lines_left = line

        def trace(frame, event, _):
            nonlocal lines_left
            if frame.f_code.co_filename != atomic_write.__wrapped__.__code__.co_filename:
                return None
            lines_left -= event == "line"
            if event == "line" and lines_left == 0:
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            write_file(tmp_path / "a.txt", "whole")
        finally:
            sys.settrace(before)

    for line in range(1, 1000):
        try:
            write_until(line)
        except KeyboardInterrupt:
            assert file_names(tmp_path) in ([], ["a.txt"]), line
            (tmp_path / "a.txt").unlink(missing_ok=True)
        else:
            break
    assert line > 10  # at least this many lines were interrupted
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_permissions_of_the_old_file_are_kept_and_new_files_are_readable(tmp_path):
    path = write_file(tmp_path / "a.txt", "old")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    write_file(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_symbolic_links_and_devices_are_not_replaced(tmp_path):
    path, link = write_file(tmp_path / "a.txt", "old"), tmp_path / "link"
    link.symlink_to(path)
    write_file(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    write_file("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_long_non_ascii_file_names(tmp_path):
    for name in ("x" * 251 + ".csv", "微" * 83 + ".csv"):
        assert write_file(tmp_path / name, "1").read_text() == "1"


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_full_disk_error_names_the_file(tmp_path):
    path = write_file(tmp_path / "a.txt", "old")
    with (
        pytest.raises(FileError, match=r"a\.txt: it cannot be written \(no space left"),
        atomic_write(path),
    ):
        full()
    assert path.read_text() == "old"
    assert file_names(tmp_path) == ["a.txt"]
    with pytest.raises(FileError, match="/dev/full: it cannot be written"):
        write_file("/dev/full", "x" * 100_000)


def test_missing_folder_and_permission_errors_name_the_file(tmp_path):
    with pytest.raises(
        FileError, match=r"no/a\.txt: it cannot be written \(no such file or directory\)"
    ):
        write_file(tmp_path / "no" / "a.txt", "x")
    with pytest.raises(FileError, match="it cannot be written"):
        write_file(tmp_path, "x")


def test_broken_pipe_is_not_a_file_error(tmp_path):
    with pytest.raises(BrokenPipeError), atomic_write(tmp_path / "a.txt"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
