"""`ldlearn` as a process that starts at once: forked from a server that has imported what most
commands need.

Imports take a new interpreter more than a second, and many tests need a process for its pipes,
terminal, signals or exit code. `command` returns a replacement for ``python -m ldlearn.cli``; that
program sends its arguments, folder, environment and open files to the server, forwards signals, and
exits as the command does. New interpreters are tested in tests/cli/test_start_up.py,
test_interrupts.py and test_streaming.py.
"""

# Only fast imports of the standard library at the top.
import json
import os
import signal
import socket
import sys

IMPORTED = (
    "matplotlib.figure",
    "pandas",
    "pyarrow.csv",
    "rich.progress",
    "ldlearn.tables",
    "ldlearn.reporting",
)


def command(python=sys.executable, environment=None):
    """The beginning of a command line; its server lives as long as this process."""
    if not hasattr(os, "fork"):
        return [str(python), "-m", "ldlearn.cli"]
    key = str(python)
    if key not in _servers:
        _servers[key] = _start_server(key, environment)
    return [key, "-I", "-S", __file__, _servers[key]]


def write_script(path, **options):
    """Write the same as a program for the PATH of a shell."""
    from shlex import join

    with open(path, "w") as script:
        script.write(f'#!/bin/sh\nexec {join(command(**options))} "$@"\n')
    os.chmod(path, 0o755)


_servers = {}


def _start_server(python, environment):
    import atexit
    import subprocess
    import tempfile

    address = f"{tempfile.mkdtemp(prefix='warm')}/socket"
    server = subprocess.Popen(
        [python, "-c", SERVER.format(file=__file__, address=address)],
        stdin=subprocess.PIPE,  # closed when this process ends, which stops the server
        stdout=subprocess.PIPE,
        env=environment,
        cwd=os.path.dirname(address),
    )
    atexit.register(server.communicate)  # closes its input and waits for its exit
    assert server.stdout.readline() == b"ready\n"
    return address


# The commands must run in a main module without other variables.
SERVER = """
import runpy
runpy.run_path({file!r})["serve"]({address!r})
runpy.run_module("ldlearn.cli", run_name="__main__", alter_sys=True)
"""


def serve(address):
    """Fork a process for each request; return only in that process, which then runs the command."""
    import gc
    import select
    from contextlib import suppress
    from importlib import import_module

    from ldlearn.cli.app import COMMANDS, load_command

    for name in IMPORTED:
        with suppress(ImportError):  # of an extra that is not installed here
            import_module(name)
    for entry in COMMANDS:
        load_command(entry.name)
    gc.freeze()  # keeps memory pages shared
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    print("ready", flush=True)
    while listener in select.select([listener, 0], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0 and _fork_command(connection):
            return
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # reap finished processes
                pass
    with suppress(ChildProcessError):
        while os.wait():
            pass
    os.unlink(address)
    os.rmdir(os.path.dirname(address))
    os._exit(0)


def _fork_command(connection):
    """Return true in a second fork; in the first one, wait for it, send its exit status, and
    exit."""
    request, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    arguments, folder, environment = json.loads(request)
    child = os.fork()
    if child:
        for file in (*files, 0, 1, 2):
            os.close(file)
        connection.sendall(b"%d\n" % child)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(b"%d\n" % code)
        os._exit(0)
    connection.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:], sys.path[0] = arguments, folder
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    return True


def run_remotely(address, arguments):
    """Run a command with the files of this process, forward signals, and exit with its status."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    socket.send_fds(
        connection, [json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()], [0, 1, 2]
    )
    replies = connection.makefile()
    child = int(replies.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):  # otherwise readers would wait for this process, too
        os.dup2(nowhere, file)
    code = int(replies.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    run_remotely(sys.argv[1], sys.argv[2:])
