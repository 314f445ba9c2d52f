"""What a program shows on a terminal."""

import os


def read_terminal(leader: int) -> bytes:
    """Everything written to a pseudo-terminal until its last writer is gone; closes it."""
    shown = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:  # how Linux ends a pseudo-terminal
            break
        if not block:
            break
        shown += block
    os.close(leader)
    return shown
