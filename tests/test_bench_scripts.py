#!/usr/bin/env python3
"""test_bench_scripts.py - the scripts of tools/bench where the packages they need are missing"""
import pathlib
import subprocess
import sys
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent / "tools" / "bench"
NEEDS = {"plots.py": "matplotlib", "peers.py": "torch", "end_to_end.py": "torch"}


def run(script, *arguments):
    """The script in a Python that sees the standard library alone."""
    command = [sys.executable, "-S", "-E", "-s", "-B", str(BENCH / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


class Missing(unittest.TestCase):
    def test_one_line_names_the_package_and_how_to_get_it(self):
        for script, package in NEEDS.items():
            done = run(script)
            said = f"{script}: needs {package} (pip install {package})\n"
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", said))

    def test_help_needs_nothing(self):
        for script in [*NEEDS, "report.py"]:
            done = run(script, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), script)
            self.assertIn("usage: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
