import ipaddress
import socket

import pytest
import shared_data


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Connections to other machines fail the test."""
    connect = socket.socket.connect

    def local_only(self, address):
        if (
            self.family in (socket.AF_INET, socket.AF_INET6)
            and not ipaddress.ip_address(address[0]).is_loopback
        ):
            raise AssertionError(f"a test tried to reach {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local_only)
    monkeypatch.delenv("LDLEARN_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def shared_file():
    """Path of an optional data file outside the repository; tests are skipped if it is missing."""
    return lambda name: shared_data.shared_file(f"datasets/{name}")
