"""The parts of bench/run_load: systems to measure, measures, the machine, and the report."""
