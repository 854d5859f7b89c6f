"""A real Jupyter kernel that runs cells, for tests: what a notebook is behind its page."""

import contextlib
import queue
import time

import pytest
from jupyter_client.manager import KernelManager


class Kernel:
    """Runs cells one after the other; ``outputs`` are the messages of the latest."""

    def __init__(self, manager, client):
        self.manager, self.client = manager, client
        self.outputs = []

    def run(self, code, timeout=240.0, meanwhile=None):
        """Run a cell; returns the text that it printed and showed.

        ``meanwhile`` is called with each message. An error in the cell fails the test.
        """
        self.outputs = []
        asked = self.client.execute(code)
        deadline = time.monotonic() + timeout
        while True:
            with contextlib.suppress(queue.Empty):
                message = self.client.get_iopub_msg(timeout=1)
                if message["parent_header"].get("msg_id") == asked:
                    if message["content"].get("execution_state") == "idle":
                        break
                    self.outputs.append(message)
                    if meanwhile is not None:
                        meanwhile(message)
            assert time.monotonic() < deadline, "the cell takes too long"
        for message in self.of_type("error"):
            pytest.fail("\n".join(message["traceback"]))
        shown = [m.get("text") or m.get("data", {}).get("text/plain", "") for m in self.all()]
        return "".join(shown)

    def all(self):
        return [message["content"] for message in self.outputs]

    def of_type(self, kind):
        return [message["content"] for message in self.outputs if message["msg_type"] == kind]


@contextlib.contextmanager
def kernel(folder, environment):
    """A kernel that is started in a folder, and ended at the end."""
    manager = KernelManager()
    manager.start_kernel(cwd=str(folder), env=environment)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
