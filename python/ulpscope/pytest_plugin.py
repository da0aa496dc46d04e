"""The fixture `assert_explained` for pytest, which finds it by the package's entry point: ulpscope.testing has the meaning."""

from __future__ import annotations

from typing import Any

import pytest

from .testing import assert_explained as _assert_explained


@pytest.fixture(name="assert_explained")  # type: ignore[untyped-decorator]
def _fixture() -> Any:
    return _assert_explained
