"""Identity and JSON of records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from samples import AVX512 as TARGET
from samples import WORKLOAD

from schedsearch.core.alignment import UNKNOWN
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import canonical_json, digest_of
from schedsearch.core.records import (
    Compiler,
    InstructionSet,
    Measurement,
    Round,
    Target,
    TuningRecord,
)
from schedsearch.core.stats import Estimate, median_with_interval
from schedsearch.core.trace import Trace

MEASUREMENT = Measurement(
    "screen",
    (Round((10.0, 12.0), (30.0, 31.0)), Round((11.0, 10.0), (20.0, 22.0)), Round((9.0,), (36.0,))),
    100,
    (("load", "0.1"),),
    "reference",
    2.0,
)


def test_target_round_trips_through_json() -> None:
    again = Target.from_json(json.loads(json.dumps(TARGET.to_json())))
    assert again == TARGET
    assert again.compiler.path == TARGET.compiler.path
    assert again.key == TARGET.key


def test_the_middle_of_a_measurement_is_the_value_of_its_estimate() -> None:
    assert MEASUREMENT.middle == MEASUREMENT.speedup.value == 2.0 * 3.0
    even = replace(MEASUREMENT, rounds=MEASUREMENT.rounds[:2])
    assert even.middle == even.speedup.value == 2.0 * 2.5


def test_target_without_paths_has_the_same_key() -> None:
    described = json.loads(json.dumps(TARGET.to_json(paths=False)))
    assert "/usr/bin/gcc" not in json.dumps(described)
    assert Target.from_json(described).key == TARGET.key


def test_target_key_leaves_out_paths_patch_levels_and_cores_and_nothing_else() -> None:
    clang = Compiler("clang", "19.1.7", "/usr/bin/clang")
    both = replace(TARGET, other_compilers=(clang,))
    same: list[tuple[Target, dict[str, object]]] = [
        (TARGET, {"compiler": replace(TARGET.compiler, path="/opt/gcc")}),
        (TARGET, {"compiler": replace(TARGET.compiler, version="12.2.1")}),
        (both, {"other_compilers": (replace(clang, version="19.1.0", path=""),)}),
        (TARGET, {"cores": 1}),
    ]
    for target, change in same:
        assert replace(target, **change).key == target.key
    assert replace(TARGET, **same[0][1]) == TARGET
    changes = [
        {"cpu": "zen4"},
        {"features": ("avx2",)},
        {"isa": "avx2"},
        {"vector_bits": 256},
        {"vector_registers": 16},
        {"instructions": (InstructionSet("mine", "d1", ""),)},
        {"line_bytes": 128},
        {"cache_bytes": (32768,)},
        {"threads": 2, "cores": 4},
        {"other_compilers": (clang,)},
        {"other_compilers": (replace(clang, version="19.2.0"),)},
        {"compiler": replace(TARGET.compiler, version="12.20.0")},
        {"compiler": replace(TARGET.compiler, version="12.3.0")},
        {"compiler": replace(TARGET.compiler, version="13.2.0")},
        {"compiler": replace(TARGET.compiler, kind="clang")},
        {"flags": ("-O2", "-march=native")},
        {"fp": FloatingPoint.STRICT},
        {"fp": FloatingPoint.REASSOCIATE},
        {"exo_version": "1.0.1"},
        {"z3_version": "4.14"},
        {"threads": 2},
        {"align": 64},
        {"align": UNKNOWN},
    ]
    keys = {replace(TARGET, **change).key for change in changes}
    assert len(keys) == len(changes)
    assert TARGET.key not in keys


def test_workload_key_depends_on_what_is_tuned_not_on_where_it_was_read() -> None:
    assert replace(WORKLOAD, source="elsewhere.py", source_sha="other").key == WORKLOAD.key
    changes = [{"proc": "gemv"}, {"proc_key": "def"}, {"sizes": (("M", 8), ("N", 10))}]
    keys = {replace(WORKLOAD, **change).key for change in changes}
    assert len(keys) == len(changes)
    assert WORKLOAD.key not in keys


@pytest.mark.slow
def test_keys_are_the_same_in_other_processes() -> None:
    program = (
        "from core.test_records import TARGET, WORKLOAD;"
        "from schedsearch.core.trace import Rewrite, Trace;"
        "print(TARGET.key, WORKLOAD.key, Trace((Rewrite('s', 1, (0, 'e'), 'x'),)).key)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(found) == 1
    assert found.pop().split()[:2] == [TARGET.key, WORKLOAD.key]


def test_canonical_json_is_one_text_per_value() -> None:
    assert canonical_json({"b": [1, "ä"], "a": None}) == '{"a":null,"b":[1,"ä"]}'
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of([1, 2]) != digest_of([2, 1])


def test_measurement_round_trips_through_json() -> None:
    again = Measurement.from_json(json.loads(json.dumps(MEASUREMENT.to_json())))
    assert again == MEASUREMENT


def test_measurement_derives_ratios_of_minima_per_round() -> None:
    assert [r.speedup for r in MEASUREMENT.rounds] == [3.0, 2.0, 4.0]
    assert MEASUREMENT.speedup.value == 6.0  # median 3, the reference itself being 2 times faster
    assert MEASUREMENT.candidate_ns == 10.0
    assert MEASUREMENT.reference_ns == 30.0


def test_a_record_has_a_speedup_only_if_it_was_measured() -> None:
    assert TuningRecord(Trace(), None).speedup is None
    assert TuningRecord(Trace(), None, measurement=MEASUREMENT).speedup == 6.0


@pytest.mark.parametrize("values", [[2.0], [2.0, 4.0]])
def test_interval_of_few_values_is_their_range(values: list[float]) -> None:
    found = median_with_interval(values)
    assert found == Estimate(sum(values) / len(values), min(values), max(values))


def test_interval_of_many_values() -> None:
    values = [1.0 + i / 100 for i in range(101)]
    found = median_with_interval(values)
    assert found.value == 1.5
    assert 1.35 < found.low < 1.5 < found.high < 1.65
    assert found == median_with_interval(values)
    wider = median_with_interval(values, level=0.99)
    assert wider.low < found.low
    assert wider.high > found.high


def test_one_outlier_does_not_move_the_median() -> None:
    found = median_with_interval([1.0] * 20 + [1000.0])
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_no_values_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        median_with_interval([])


def test_estimates_print_with_the_interval_that_they_have() -> None:
    assert str(Estimate(2.0, 1.5, 3.25)) == "2.00 [1.50, 3.25]"
    assert Estimate(2.0, 1.5, 3.25).to_json() == {"value": 2.0, "low": 1.5, "high": 3.25}
    assert str(Estimate(2.0)) == "2.00"
    assert Estimate(2.0).to_json() == {"value": 2.0, "low": None, "high": None}


def test_a_target_of_an_older_store_gets_its_isa_from_its_features() -> None:
    old = TARGET.to_json()
    for name in ("isa", "vector_registers", "instructions"):
        del old[name]
    features = ["avx", "avx2", "fma", "sse2"]
    again = Target.from_json({**old, "features": features, "vector_bits": 256})
    assert (again.isa, again.vector_bits, again.vector_registers) == ("avx2", 256, 16)


def test_a_target_of_an_older_store_is_fast_and_has_the_same_key() -> None:
    old = TARGET.to_json()
    del old["fp"]
    again = Target.from_json(old)
    assert again.fp is FloatingPoint.FAST
    assert again.key == TARGET.key


def test_a_target_is_told_as_a_run_had_it() -> None:
    clang = Compiler("clang", "19.1.7", "/usr/bin/clang")
    then = replace(TARGET, cores=7, other_compilers=(clang,))
    later = replace(
        TARGET,
        compiler=replace(TARGET.compiler, version="12.2.1"),
        other_compilers=(replace(clang, version="19.1.8"),),
    )
    kept = json.loads(json.dumps(then.circumstances)) | {"load": "0.5"}
    assert later.under(kept) == then
    assert later.under({}) == later  # runs of earlier versions kept nothing
    for wrong in ({"cores": "2"}, {"compilers": []}, {"compilers": {"gcc": 12}}):
        with pytest.raises(UserError, match=r"environment: (cores|compilers)"):
            later.under(wrong)


def test_contracts_round_trip_and_nothing_else_is_one() -> None:
    for fp in FloatingPoint:
        target = replace(TARGET, fp=fp)
        assert Target.from_json(json.loads(json.dumps(target.to_json()))) == target
    with pytest.raises(UserError, match="fp is not one of strict, reassociate, fast: 'loose'"):
        Target.from_json(TARGET.to_json() | {"fp": "loose"})


def test_a_target_of_an_older_store_has_an_unknown_alignment_and_keeps_its_key() -> None:
    """What was measured then does not mix with what is measured now."""
    old = TARGET.to_json()
    del old["align"]
    again = Target.from_json(old)
    assert again.align == UNKNOWN
    assert Target.from_json(json.loads(json.dumps(again.to_json()))) == again
    identity = dict(TARGET.identity)
    del identity["align"]
    assert again.key == digest_of(identity)
    assert again.key != TARGET.key


def test_alignments_round_trip_and_not_every_number_is_one() -> None:
    for align in (16, 32, 64, 4096):
        target = replace(TARGET, align=align)
        assert Target.from_json(json.loads(json.dumps(target.to_json()))) == target
    for wrong in (8, 24, 100, 8192):
        with pytest.raises(UserError, match="align is not a power of two from 16 to 4096"):
            Target.from_json(TARGET.to_json() | {"align": wrong})


def test_paths_of_instruction_sets_are_no_part_of_the_identity() -> None:
    here = replace(TARGET, instructions=(InstructionSet("mine", "d1", "/here/mine.py"),))
    there = replace(TARGET, instructions=(InstructionSet("mine", "d1", "/there/mine.py"),))
    assert here.key == there.key
    again = Target.from_json(json.loads(json.dumps(here.to_json())))
    assert again.instructions[0].path == "/here/mine.py"
