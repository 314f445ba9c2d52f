"""The output of a program on a terminal."""

import os


def read_terminal(leader: int) -> bytes:
    """Read all output of a pseudo-terminal until its last writer closes it."""
    output = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:  # how Linux ends a pseudo-terminal
            break
        if not block:
            break
        output += block
    os.close(leader)
    return output
