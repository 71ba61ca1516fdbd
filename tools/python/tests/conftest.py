"""The package that is installed or, where none is, that of this tree with $DLLM_LIBRARY; torch's part.

--need-torch makes a missing torch an error, and a run in which no answer was held to torch's a
failed one. A test that needs what older releases of torch lack names it: needs_torch("compile").
"""

import importlib.util
import pathlib
import sys

import pytest

if not importlib.util.find_spec("dllm_kernels"):
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

_passed = set()  # tests marked torch_values


def pytest_addoption(parser):
    parser.addoption("--need-torch", action="store_true", help="fail where torch is missing")


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU and torch, skipped without")
    config.addinivalue_line("markers", "needs_torch(name): needs torch.name, skipped without")
    config.addinivalue_line("markers", "torch_values: holds answers to those of torch itself")
    if config.getoption("--need-torch"):
        try:
            import torch  # noqa: F401
        except ImportError as error:
            raise pytest.UsageError(f"--need-torch: {error}") from None


def pytest_runtest_setup(item):
    for marker in item.iter_markers("needs_torch"):
        import torch

        for name in marker.args:
            part = torch
            for word in name.split("."):
                part = getattr(part, word, None)
            if part is None:
                pytest.skip(f"torch {torch.__version__} has no torch.{name}")


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and "torch_values" in report.keywords:
        _passed.add(report.nodeid)


def pytest_sessionfinish(session):
    if session.config.getoption("--need-torch") and not _passed:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--need-torch"):
        import torch

        terminalreporter.write_line(
            f"torch {torch.__version__}: {len(_passed)} tests held answers to its own"
        )
