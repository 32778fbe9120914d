#!/usr/bin/env python3
"""Tests of the command line, from the outside.

    cli.py --binary build/release/jobbie --example build/release/bin/example_worker [Class.test_name …]
"""

import argparse
import os
import sys
import unittest

from cli_backup import *  # noqa: F401,F403  the tests themselves
from cli_bulk import *  # noqa: F401,F403
from cli_commands import *  # noqa: F401,F403
from cli_hostile import *  # noqa: F401,F403
from cli_program import *  # noqa: F401,F403
from cli_top import *  # noqa: F401,F403
from cli_work import *  # noqa: F401,F403
from cli_support import Options


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--example", required=True, help="the worker of examples/cpp")
    options, rest = parser.parse_known_args()
    Options.binary = os.path.abspath(options.binary)
    Options.example = os.path.abspath(options.example)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2, warnings="ignore")


if __name__ == "__main__":
    main()
