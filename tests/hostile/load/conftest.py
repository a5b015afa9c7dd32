import pytest


@pytest.fixture
def counts():
    return lambda kind, outcome, number=1: print(kind, outcome, number)


@pytest.fixture
def measured():
    return lambda kind, name, value: print(kind, name, value)
