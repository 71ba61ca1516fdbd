#!/usr/bin/env python3
"""Packs the package, the library and its compile helper as a wheel for this machine.

usage: tools/python/wheel.py BUILD FOLDER

BUILD is a build folder, release for what is to be given away. Prints the wheel's path.
"""

import base64
import hashlib
import pathlib
import platform
import re
import stat
import sys
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parent / "dllm_kernels"
DATE = (1980, 1, 1, 0, 0, 0)  # equal input gives equal bytes


def version(root):
    """The project's version, from the one place that says it."""
    return re.search(r"project\(dllm VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]


def contents(build, name, tag, number):
    """(path in the wheel, bytes, is a program) of every file but RECORD."""
    files = [
        (f"dllm_kernels/{path.name}", path.read_bytes(), False)
        for path in sorted(PACKAGE.iterdir())
        if path.suffix in (".py", ".typed")
    ]
    files.append(("dllm_kernels/libdllm.so.0", (build / "libdllm.so.0").read_bytes(), False))
    files.append(("dllm_kernels/dllm-jit", (build / "dllm-jit").read_bytes(), True))
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n"
        "Summary: The last step of language-model inference, without the logits\n"
        "Requires-Python: >=3.9\n"
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    folder = f"{name}-{number}.dist-info"
    return files + [
        (f"{folder}/METADATA", metadata.encode(), False),
        (f"{folder}/WHEEL", wheel.encode(), False),
    ]


def add(archive, path, data, is_program=False):
    """Adds a file; returns its line of RECORD."""
    entry = zipfile.ZipInfo(path, DATE)
    entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}"


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 0 if arguments == ["--help"] else 1
    build, folder = map(pathlib.Path, arguments)
    if not (build / "libdllm.so.0").exists():
        print(f"wheel.py: no libdllm.so.0 in {build}: build the library there first", file=sys.stderr)
        return 1
    name, number = "dllm_kernels", version(PACKAGE.parents[2])
    tag = f"py3-none-linux_{platform.machine()}"
    path = folder / f"{name}-{number}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        record = [add(archive, *entry) for entry in contents(build, name, tag, number)]
        own = f"{name}-{number}.dist-info/RECORD"
        add(archive, own, "\n".join([*record, f"{own},,", ""]).encode())
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
