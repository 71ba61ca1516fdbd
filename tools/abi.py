#!/usr/bin/env python3
"""Writes what binaries rely on in include/dllm.h, as text and as ctypes.

usage: tools/abi.py [--check [LIBRARY]]

The compiler ($CC, or cc) says it: constants, the size of every struct, offset, size and type of
every field, and the functions. Two files come of it: tests/abi/dllm.abi, to see in a review what
moved, and tools/python/dllm_kernels/_abi.py, the same for Python. --check writes nothing and ends
with 1 if one of them would change, or if LIBRARY exports other functions than the header declares.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/dllm.h"
TEXT = ROOT / "tests/abi/dllm.abi"
PYTHON = ROOT / "tools/python/dllm_kernels/_abi.py"
COMPILER = os.environ.get("CC", "cc")

CTYPES = {
    "char": "c_char", "float": "c_float", "double": "c_double", "int": "c_int",
    "size_t": "c_size_t", "int32_t": "c_int32", "int64_t": "c_int64", "uint8_t": "c_uint8",
    "uint32_t": "c_uint32", "uint64_t": "c_uint64", "void": "None",
}  # fmt: skip


def one_space(text):
    return " ".join(text.split())


def declarations():
    """(constants, structs, functions, enums, callbacks) of the header without its comments.

    structs: name -> [(field, type)], an array's type ending in [N]; functions: (result, name,
    [parameter types]); enums: type names; callbacks: (result, name, [parameter types]).
    """
    text = subprocess.run(
        [COMPILER, "-E", "-P", str(HEADER)], capture_output=True, text=True, check=True
    ).stdout
    text = re.sub(r"__attribute__ *\(\(visibility\(\"default\"\)\)\)", "", text)
    structs, constants, enums = {}, [], []
    for name, body in re.findall(r"typedef struct (dllm_\w+) *\{(.*?)\} *\1;", text, re.S):
        structs[name] = [field(one) for one in body.split(";") if one.strip()]
    for name, body in re.findall(r"\benum *(dllm_\w+)? *\{(.*?)\}", text, re.S):
        constants += re.findall(r"\b(DLLM_\w+)\b *=", body)
        enums += [name] if name else []
    functions = [
        (one_space(result), name, parameters(rest))
        for result, name, rest in re.findall(
            r"^ *([a-z][\w \*]*?)\b(dllm_\w+) *\(([^()]*)\) *;", text, re.M
        )
    ]
    callbacks = [
        (one_space(result), name, parameters(rest))
        for result, name, rest in re.findall(
            r"typedef ([\w \*]+?) *\( *\* *(dllm_\w+) *\) *\(([^()]*)\) *;", text
        )
    ]
    return constants, structs, functions, enums, callbacks


def field(declaration):
    """(name, type) of one field, declared alone."""
    kind, name, array = re.fullmatch(r"([^,]*?)(\w+)(\[\d+\])?", one_space(declaration)).groups()
    return name, kind.strip() + (array or "")


def parameters(text):
    """Types of a parameter list."""
    if one_space(text) in ("", "void"):
        return []
    return [field(one)[1] for one in text.split(",")]


def measured(constants, structs):
    """The compiler's numbers: {constant: value}, {struct: size}, {(struct, field): place}."""
    lines = [f'    printf("%lld\\n", (long long){name});' for name in constants]
    for name, fields in structs.items():
        lines.append(f'    printf("%zu\\n", sizeof({name}));')
        lines += [
            f'    printf("%zu %zu\\n", offsetof({name}, {one}), sizeof((({name} *)0)->{one}));'
            for one, _ in fields
        ]
    program = "\n".join(
        [
            '#include "dllm.h"',
            "#include <stdio.h>",
            "int main(void)",
            "{",
            *lines,
            "    return 0;",
            "}",
            "",
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi")
        source.write_text(program, encoding="utf-8")
        subprocess.run([COMPILER, f"-I{HEADER.parent}", str(source), "-o", str(binary)], check=True)
        numbers = iter(
            subprocess.run(
                [str(binary)], capture_output=True, text=True, check=True
            ).stdout.splitlines()
        )
    values = {name: int(next(numbers)) for name in constants}
    sizes, places = {}, {}
    for name, fields in structs.items():
        sizes[name] = int(next(numbers))
        places.update({(name, one): tuple(map(int, next(numbers).split())) for one, _ in fields})
    return values, sizes, places


def abi_text(found, numbers):
    """The text for people."""
    constants, structs, functions, _, callbacks = found
    values, sizes, places = numbers
    lines = [
        "# What binaries rely on in include/dllm.h, for 64-bit Linux. Written by tools/abi.py."
    ]
    lines += ["", "# constants"] + [f"{name} {values[name]}" for name in constants]
    lines += ["", "# structs: size; each field's offset, size, name and type"]
    for name, fields in structs.items():
        lines.append(f"{name} {sizes[name]}")
        lines += ["  {:4} {:4} {} {}".format(*places[name, one], one, kind) for one, kind in fields]
    lines += ["", "# functions"]
    for result, name, kinds in sorted(functions + callbacks, key=lambda one: one[1]):
        lines.append(f"{result} {name}({', '.join(kinds) or 'void'})")
    return "\n".join(lines) + "\n"


def ctype(kind, structs, enums, callbacks):
    """The ctypes expression of a C type."""
    array = re.fullmatch(r"(.*)\[(\d+)\]", kind)
    if array:
        return f"{ctype(array[1], structs, enums, callbacks)} * {array[2]}"
    plain = kind.replace("const ", "").strip()
    if plain == "char *":
        return "c_char_p"
    if plain.endswith("*") or plain == "dllm_stream":
        return "c_void_p"
    if plain in enums:
        return "c_int"
    if plain in structs or plain in callbacks:
        return plain
    return CTYPES[plain]


def abi_python(found, values):
    """The same as ctypes."""
    constants, structs, functions, enums, callbacks = found
    known = structs, enums, [name for _, name, _ in callbacks]
    lines = []
    lines += [f"{name} = {values[name]}" for name in constants] + [""]
    for result, name, kinds in callbacks:
        shape = ", ".join(ctype(kind, *known) for kind in [result, *kinds])
        lines.append(f"{name} = CFUNCTYPE({shape})")
    for name, fields in structs.items():
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{one}", {ctype(kind, *known)}),' for one, kind in fields] + ["    ]"]
    lines += ["", "", "# name: (result, parameters)", "FUNCTIONS = {"]
    for result, name, kinds in functions:
        shape = ", ".join(ctype(kind, *known) for kind in kinds)
        lines.append(f'    "{name}": ({ctype(result, *known)}, [{shape}]),')
    text = "\n".join(lines + ["}", ""])
    names = sorted({"Structure", *re.findall(r"\b(?:c_\w+|CFUNCTYPE)\b", text)})
    imports = textwrap.wrap(", ".join(names), 96, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(
        [
            '"""include/dllm.h as ctypes. Written by tools/abi.py from the header."""',
            "",
            "from ctypes import (",
            *imports,
            ")",
            "",
            text,
        ]
    )


def exported(library):
    """Names of the functions that a shared library exports."""
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines() if " T " in line}


def differences(new, path, old):
    return list(
        difflib.unified_diff(
            old.splitlines(),
            new.splitlines(),
            f"{path} committed",
            f"{path} of the header",
            lineterm="",
            n=1,
        )
    )


def main(arguments):
    if arguments[:1] not in ([], ["--check"]) or len(arguments) > 2:
        print(__doc__)
        return 0 if arguments == ["--help"] else 1
    found = declarations()
    numbers = measured(found[0], found[1])
    faults = []
    for path, new in ((TEXT, abi_text(found, numbers)), (PYTHON, abi_python(found, numbers[0]))):
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if new == old:
            continue
        if arguments:
            faults += differences(new, path.relative_to(ROOT), old) + ["run tools/abi.py"]
        else:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)} written")
    if len(arguments) == 2:
        declared = {name for _, name, _ in found[2]}
        faults += [
            f"{name}: exported or declared, not both"
            for name in sorted(declared ^ exported(arguments[1]))
        ]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
