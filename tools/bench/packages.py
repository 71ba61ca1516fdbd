"""Python packages that a script needs: there, or named in one line with how to get them."""
import importlib
import pathlib
import sys

HOW = {
    "matplotlib": "pip install matplotlib",
    "torch": "pip install torch",
    "triton": "it comes with a CUDA build of torch: pip install torch",
}


def need(*names, usage):
    """Ends the program where a package cannot be imported; by its usage where --help was asked."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            if {"-h", "--help"} & set(sys.argv[1:]):
                print(usage)
                sys.exit(0)
            missing = isinstance(error, ModuleNotFoundError) and error.name == name
            reason = f"needs {name} ({HOW[name]})" if missing else f"{name}: {error}"
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {reason}")
