#!/usr/bin/env python3
"""End-to-end tests of the binary, from the outside.

    e2e.py --binary build/release/jobbie [--seed N] [--requests N] [Class.test_name …]
"""

import argparse
import os
import sys
import unittest

from e2e_access import *  # noqa: F401,F403  the tests themselves
from e2e_backup import *  # noqa: F401,F403
from e2e_bulk import *  # noqa: F401,F403
from e2e_clients import *  # noqa: F401,F403
from e2e_exhaustion import *  # noqa: F401,F403
from e2e_largest import *  # noqa: F401,F403
from e2e_limits import *  # noqa: F401,F403
from e2e_memory import *  # noqa: F401,F403
from e2e_owners import *  # noqa: F401,F403
from e2e_program import *  # noqa: F401,F403
from e2e_search import *  # noqa: F401,F403
from e2e_tls import *  # noqa: F401,F403
from e2e_traces import *  # noqa: F401,F403
from e2e_watch import *  # noqa: F401,F403
from e2e_webhooks import *  # noqa: F401,F403
from support import Options


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=2000, help="bad requests to throw at the server")
    options, rest = parser.parse_known_args()
    Options.binary = os.path.abspath(options.binary)
    Options.seed, Options.requests = options.seed, options.requests
    print(f"seed {Options.seed}", flush=True)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2, warnings="ignore")


if __name__ == "__main__":
    main()
