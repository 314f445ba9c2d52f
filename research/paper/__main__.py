"""Check the printed numbers of the DLDL paper: ``python -m research.paper [--only TOPICS]
[--json]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from ldlearn.evaluation.formatting import plural
from ldlearn.exceptions import LDLearnError
from research.paper import audit_paper


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m research.paper", description="Audit of the DLDL paper's tables."
    )
    parser.add_argument(
        "--only", help="topics or findings, separated by commas, such as ranks,baselines"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(arguments)
    try:
        findings = audit_paper(options.only and options.only.split(","))
    except LDLearnError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2))
        return 0
    for finding in findings:
        print(f"{finding}\n")
    print(f"{plural(len(findings), 'finding')}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
