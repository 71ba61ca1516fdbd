#!/usr/bin/env python3
"""nvrtc_versions.py - compiles every kernel with every NVRTC that PyPI has, and writes README's table

usage: tools/nvrtc_versions.py [--build FOLDER] [VERSION ...]

Takes the last release of each minor version 12.x and 13.x, or those named, into build/nvrtc/, asks
each which architectures it knows, and has FOLDER/dllm-tune prebuild all kernels for them into a
cache folder of its own. What came of it is kept in build/nvrtc/results.json, so that a run may be
interrupted or name one version; the table in README holds all of it. Ends 1 if a kernel failed.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORE = ROOT / "build/nvrtc"
RESULTS = STORE / "results.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- nvrtc:begin -->\n", "<!-- nvrtc:end -->\n"
PACKAGES = ("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc")


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def released(package):
    """The versions of a package, newest first."""
    found = re.search(r"Available versions: (.*)", pip("index", "versions", package))
    return sorted(found.group(1).split(", "), key=numbers, reverse=True)


def last_of_each_minor():
    chosen = {}
    for package in PACKAGES:
        for version in released(package):
            chosen.setdefault(numbers(version)[:2], version)
    return sorted(chosen.values(), key=numbers)


def install(version):
    """Path of the version's libnvrtc, fetched once."""
    folder = STORE / version
    package = PACKAGES[0] if numbers(version)[0] == 12 else PACKAGES[1]
    if not folder.exists():
        pip("install", "--quiet", "--no-deps", "--target", str(folder), f"{package}=={version}")
    libraries = [p for p in folder.rglob("libnvrtc.so.*") if "alt" not in p.name]
    return libraries[0]


def known_numbers(library):
    """The architectures that an NVRTC says it supports: 90 for sm_90 and sm_90a."""
    code = (
        "import ctypes,sys; n=ctypes.CDLL(sys.argv[1]); c=ctypes.c_int();"
        "n.nvrtcGetNumSupportedArchs(ctypes.byref(c)); a=(ctypes.c_int*c.value)();"
        "n.nvrtcGetSupportedArchs(a); print(*a)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(library)], capture_output=True, text=True, check=True
    )
    return {int(number) for number in said.stdout.split()}


def shipped_arches(tune):
    """The architectures that dllm-tune compiles for, in its own words."""
    said = subprocess.run([tune, "prebuild", "--arch", "none"], capture_output=True, text=True)
    return re.findall(r"sm_\d+a?", said.stderr)


def compile_all(tune, library, version, arches):
    cache = STORE / f"cache-{version}"
    shutil.rmtree(cache, ignore_errors=True)
    environment = {**os.environ, "DLLM_NVRTC": str(library), "DLLM_CACHE_DIR": str(cache)}
    command = [tune, "prebuild", "--json", "--quiet"]
    for arch in arches:
        command += ["--arch", arch]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    shutil.rmtree(cache, ignore_errors=True)
    try:
        said = json.loads(done.stdout)
        failures = [f"{f['program']} for {f['arch']}: {f['message']}" for f in said["failures"]]
        return {"kernels": said["kernels"], "compiled": said["compiled"], "failures": failures}
    except ValueError:
        return {"kernels": 0, "compiled": 0, "failures": [done.stderr.strip() or "no answer"]}


def try_version(tune, version, arches):
    library = install(version)
    known = known_numbers(library)
    tried = [arch for arch in arches if int(re.search(r"\d+", arch).group()) in known]
    result = compile_all(str(tune), library, version, tried)
    result["arches"] = tried
    result["date"] = datetime.date.today().isoformat()
    return result


def table(results):
    lines = [
        f"Tried by `tools/nvrtc_versions.py`, {max(r['date'] for r in results.values())}.",
        "",
        "| NVRTC | architectures | kernels compiled | failed |",
        "|---|---|---|---|",
    ]
    for version in sorted(results, key=numbers):
        result = results[version]
        arches = " ".join(arch[3:] for arch in result["arches"])
        failed = len(result["failures"])
        lines.append(f"| {version} | {arches} | {result['compiled']} of {result['kernels']} "
                     f"| {failed or 'none'} |")
    return "\n".join(lines) + "\n"


def write_readme(results):
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(before + BEGIN + table(results) + END + after, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--build", default="build/dev", help="folder with dllm-tune (build/dev)")
    options = parser.parse_args()
    tune = (ROOT / options.build / "dllm-tune").resolve()
    STORE.mkdir(parents=True, exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    arches = shipped_arches(tune)
    for version in options.versions or last_of_each_minor():
        result = results[version] = try_version(tune, version, arches)
        RESULTS.write_text(json.dumps(results, indent=1))
        print(f"{version}: {result['compiled']} of {result['kernels']} for {' '.join(result['arches'])}")
        for failure in result["failures"][:3]:
            print("   ", failure.splitlines()[0])
        sys.stdout.flush()
    write_readme(results)
    return 1 if any(result["failures"] for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
