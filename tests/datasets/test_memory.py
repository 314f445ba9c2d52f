import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "datasets_memory.py"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of a process from /proc")
def test_reading_parquet_takes_at_most_twice_the_memory_of_x(tmp_path):
    if not BENCHMARK.is_file():
        pytest.skip("the benchmarks are not part of this distribution")
    spec = importlib.util.spec_from_file_location("datasets_memory", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    benchmark.write_table(tmp_path / "warm.parquet", 100, 3, 2, 100)
    benchmark.write_table(tmp_path / "table.parquet", 50_000, 100, 5, 50_000)
    ratio, _ = benchmark.measure(tmp_path / "table.parquet", tmp_path / "warm.parquet")
    assert 0.9 < ratio < 2
