"""Write the stored small results that tests/test_golden.py compares with.

``python tools/make_golden.py`` writes all that are missing, ``python tools/make_golden.py NAME
...`` writes these anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from golden import GOLDEN, golden_cases, golden_result


def main(names: list[str]) -> None:
    for key, estimator in golden_cases().items():
        path = GOLDEN / f"{key}.json"
        wanted = type(estimator).__name__ in names if names else not path.exists()
        if wanted:
            path.write_text(json.dumps(golden_result(estimator), indent=1) + "\n")
            print(f"wrote {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
