#!/usr/bin/env python3
"""Installs the C++ client into an empty prefix and builds the example against it, as somebody else would.

    package.py BUILD_FOLDER EXAMPLE_FOLDER [CMAKE]
"""

import pathlib
import subprocess
import sys
import tempfile


def main():
    build, example = sys.argv[1:3]
    cmake = sys.argv[3] if len(sys.argv) > 3 else "cmake"
    with tempfile.TemporaryDirectory(prefix="jobbie-package-") as folder:
        prefix = pathlib.Path(folder) / "prefix"
        out = pathlib.Path(folder) / "build"
        for command in ([cmake, "--install", build, "--component", "client", "--prefix", str(prefix)],
                        [cmake, "-S", example, "-B", str(out), f"-DCMAKE_PREFIX_PATH={prefix}"],
                        [cmake, "--build", str(out)]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(" ".join(command), done.stdout, done.stderr, sep="\n")
                return 1
        done = subprocess.run([str(out / "example_worker")], capture_output=True, text=True, timeout=30, check=False,
                              env={"JOBBIE_URL": "ftp://nowhere"})
        if done.returncode != 2 or "https" not in done.stderr:
            print("the example does not refuse a bad address:", done)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
