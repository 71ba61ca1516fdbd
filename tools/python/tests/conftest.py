"""The package that is installed or, where none is, that of this tree with $DLLM_LIBRARY."""

import importlib.util
import pathlib
import sys

if not importlib.util.find_spec("dllm_kernels"):
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU and torch, skipped without")
