"""What the tests of backward work share: the library, a clean start for each test, and small tensors."""
import pytest
from torch_scopes import Probe, Window, backward, current, torch


@pytest.fixture(scope="module", autouse=True)
def library():
    assert backward.available() is None
    assert backward.enable() == "callback"


@pytest.fixture(autouse=True)
def clean():
    """Each test starts with nothing remembered, and leaves no scope open and no failure counted."""
    backward.forget()
    before = backward.counters()
    assert (before["intervals_now"], before["callback_registered"]) == (0, 0)
    yield
    with Window():
        assert current() is None
    assert backward.counters()["failures"] == before["failures"]


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def probe(value, key, seen):
    return Probe.apply(value, key, seen)
