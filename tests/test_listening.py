from __future__ import annotations

import pytest

from uiproof.errors import UsageError
from uiproof.sockets import address, listen


def test_a_port_that_is_taken_is_told_and_0_takes_a_free_one():
    with listen("127.0.0.1", 0, who="The service") as taken:
        port = taken.getsockname()[1]
        assert address("127.0.0.1", taken) == f"http://127.0.0.1:{port}"
        assert address("0.0.0.0", taken) == f"http://127.0.0.1:{port}"
        with pytest.raises(UsageError, match=f"The service cannot listen on .*:{port}") as told:
            listen("127.0.0.1", port, who="The service")
    assert "--port" in told.value.remedy


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host"])
def test_an_address_of_another_machine_is_told(host):
    with pytest.raises(UsageError, match="cannot listen") as told:
        listen(host, 0, who="The service")
    assert "--host" in told.value.remedy
