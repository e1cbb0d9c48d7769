"""``python -m training COMMAND``: fit the models and coefficients that are shipped; ``--json`` prints for machines."""

import sys

import training
from benchmarks.__main__ import main

if __name__ == "__main__":
    sys.exit(main(package=training, description=__doc__))
