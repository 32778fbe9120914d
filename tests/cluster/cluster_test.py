#!/usr/bin/env python3
"""Tests of clusters of real processes.

    cluster_test.py --binary build/release/jobbie [Class.test_name …]
"""

import argparse
import os
import sys
import unittest

from case import Options
from clock_tests import *  # noqa: F401,F403  the tests themselves
from dns_tests import *  # noqa: F401,F403
from failover_tests import *  # noqa: F401,F403
from forming_tests import *  # noqa: F401,F403
from line_tests import *  # noqa: F401,F403
from serving_tests import *  # noqa: F401,F403


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    Options.binary = os.path.abspath(options.binary)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2, warnings="ignore")


if __name__ == "__main__":
    main()
