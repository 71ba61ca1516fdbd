"""What is said where torch is missing."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples/llada.py"
HIDES_TORCH = """
import runpy, sys
sys.modules["torch"] = None
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("arguments", [["--help"], ["--random-8b"], []])
def test_the_example_says_that_it_needs_torch(arguments):
    ran = subprocess.run(
        [sys.executable, "-c", HIDES_TORCH, str(EXAMPLE), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "llada.py: needs torch 2.4 or later, none is installed\n"
