"""The gates: parts, their results, the CPU time of processes, the nightly record, and the mutants of the product."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.gate import __main__ as gate
from tools.gate import mutants, runner
from tools.gate.cost import STARTS, TestTimes, kind_of, summarise
from tools.gate.mutants import ProductMutant, read_mutants, try_mutant
from tools.gate.nightly import NightlyRecord
from tools.gate.parts import GATES, Part
from tools.gate.processes import PART_VARIABLE, ProcessSampler, ProcessTimes, unseen_cpu_s
from tools.gate.runner import GateRunner, PartResult
from tools.gate.speed import REFERENCE_S, CpuTimes, read_cpu_times, slowness
from tools.node import ROOT

BUSY = "import time; end = time.process_time() + 1.0\nwhile time.process_time() < end: pass"


def part(name: str, code: str, *, again: str = "", waits: bool = True) -> Part:
    return Part(name, f'{sys.executable} -c "{code}"', again, waits)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    return tmp_path


def test_all_parts_run_after_one_failed_and_its_output_is_kept(folder: Path) -> None:
    parts = [
        part("first", "print('broken'); exit(3)"),
        part("beside", "print('computed')", waits=False),
        part("second", "print('fine')"),
    ]
    results = GateRunner().run(parts)
    assert [(result.name, result.exit_code, result.last_line) for result in results] == [
        ("first", 3, "broken"),
        ("beside", 0, "computed"),
        ("second", 0, "fine"),
    ]
    assert (folder / "first.log").read_text() == "broken\n"


@pytest.mark.parametrize("code", [0, 1])
def test_a_part_that_fails_passes_if_its_repetition_does(folder: Path, code: int) -> None:
    del folder
    again = f'{sys.executable} -c "exit({code})"'
    (result,) = GateRunner().run([part("flaky", "exit(1)", again=again)])
    assert result.exit_code == code


def test_a_part_that_the_machine_cannot_run_is_named(folder: Path) -> None:
    del folder
    (result,) = GateRunner().run([replace(part("none", "exit(1)"), needs=(lambda: False, "a thing"))])
    assert (result.exit_code, result.note) == (None, "not run: it needs a thing")


def test_a_gate_that_takes_longer_than_its_bound_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bounds.toml").write_text("[fast]\nminutes = 1.0\nslack = 1.0\n")
    monkeypatch.setattr(gate, "_BOUNDS", folder / "bounds.toml")
    monkeypatch.setattr(gate, "read_cpu_times", lambda: CpuTimes(1, 0))
    monkeypatch.setitem(GATES, "fast", (part("only", "pass"),))
    for installed_s, work_s, fails in [
        (0, 1.0, False),
        (100, 1.0, True),
        (100, 4.0, False),  # a machine of a quarter of the speed
    ]:
        monkeypatch.setenv("GATE_STARTED", str(time.time() - installed_s))
        monkeypatch.setattr(gate, "measure_work_s", lambda work_s=work_s: work_s * REFERENCE_S)
        done = CliRunner().invoke(gate.main, ["run", "fast"])
        assert done.exit_code == int(fails), done.output
        assert ("FAILED: the gate took" in done.output) == fails


def test_a_faster_machine_gets_no_less_time_and_a_slower_one_gets_more(tmp_path: Path) -> None:
    times = []
    for number, text in enumerate(("cpu  100 0 50 900 0 0 0 10 0 0", "cpu  300 0 150 950 0 0 0 160 0 0")):
        (tmp_path / f"{number}").write_text(f"{text}\ncpu0 1 2 3 4\n")
        times.append(read_cpu_times(tmp_path / f"{number}"))
    assert slowness(REFERENCE_S / 2, times[0], times[0]) == 1
    assert slowness(REFERENCE_S * 2, times[0], times[0]) == 2
    assert slowness(REFERENCE_S, *times) == 1.5  # it computed for 300 units and waited for 150


def test_the_sampler_finds_the_cpu_time_of_a_part_and_of_short_processes() -> None:
    sampler = ProcessSampler()
    sampler.start()
    environment = {PART_VARIABLE: "busy"}
    subprocess.run([sys.executable, "-c", BUSY], env=environment, check=True)
    parent = "import subprocess\nfor _ in range(20): subprocess.run(['/bin/sh', '-c', 'for i in $(seq 30000); do :; done'])"
    subprocess.run([sys.executable, "-c", parent], env=environment, check=True)
    time.sleep(0.3)
    found = [process for process in sampler.stop() if process.part == "busy"]
    assert 0.8 <= max(process.cpu_s for process in found) <= 2.5, found
    assert sum(unseen_cpu_s(found).values()) > 0


def process(pid: int, parent: int, command: str, started: float, cpu_s: float) -> ProcessTimes:
    return ProcessTimes(pid, parent, "pytest", command, started, cpu_s=cpu_s, start_cpu_s=min(cpu_s, 1.0))


def test_cpu_time_is_summed_by_kind_and_by_the_test_that_started_the_process() -> None:
    processes = [
        process(10, 1, "python -u -c import sys;exec(eval(sys.stdin.readline()))", 0, 7.0),
        process(11, 10, "java kafka.Kafka", 5.0, 3.0),
        process(12, 10, "python -m tidings run api", 25.0, 2.5),
        process(13, 1, "java kafka.Kafka", 1.0, 9.0),
    ]
    tests = [TestTimes("a.py::one", 1.0, 4.0, 6.0, 10), TestTimes("b.py::two[x]", 2.0, 20.0, 9.0, 10)]
    cost = summarise(processes, tests)
    assert cost.by_file == {"a.py": 4.0, "b.py": 4.5}
    kinds = cost.by_part["pytest"]
    assert kinds[kind_of("java kafka.Kafka")] == 12.0
    assert kinds[STARTS] == 1.0


def test_a_nightly_run_repeats_only_what_did_not_pass_on_this_commit(tmp_path: Path) -> None:
    (tmp_path / "docs/benchmarks").mkdir(parents=True)
    record = NightlyRecord.read(tmp_path)
    record.add(PartResult("lint", 0, 60.0, 50.0, last_line="fine"), "aaaa1111")
    record.add(PartResult("models", 1), "aaaa1111")
    record = NightlyRecord.read(tmp_path)
    assert record.is_passed("lint", "aaaa1111", None)
    assert not record.is_passed("lint", "bbbb2222", None)
    assert not record.is_passed("models", "aaaa1111", None)
    assert not record.is_good("aaaa1111", None)


def test_a_result_of_a_later_commit_than_since_is_kept(tmp_path: Path) -> None:
    commits = []
    for number in range(2):
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(
            ["git", *identity, "commit", "-q", "--allow-empty", "-m", f"{number}"], cwd=tmp_path, check=True
        )
        done = subprocess.run(
            ["git", "rev-parse", "--short=8", "HEAD"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        commits.append(done.stdout.strip())
    (tmp_path / "docs/benchmarks").mkdir(parents=True)
    record = NightlyRecord.read(tmp_path)
    record.add(PartResult("lint", 0), commits[0])
    record.add(PartResult("models", 0), commits[1])
    assert record.is_passed("lint", "ffff", commits[0])
    assert not record.is_passed("lint", "ffff", commits[1])
    assert record.is_passed("models", "ffff", commits[0])


def test_every_part_of_a_gate_has_a_name_of_its_own_and_a_known_recipe() -> None:
    recipes = subprocess.run(["just", "--summary"], cwd=ROOT, capture_output=True, text=True, check=True)
    known = set(recipes.stdout.split())
    for parts in GATES.values():
        names = [part.name for part in parts]
        assert len(set(names)) == len(names)
        for part in parts:
            program, word, *_ = part.command.split()
            assert (program, word) == ("uv", "run") or (program == "just" and word in known), part.command


def test_the_nightly_run_contains_every_test_file() -> None:
    files = {path for folder in ("server", "sdk-python", "terminal", "harness", "bench", "tools", "infra")
             for path in (ROOT / folder).glob("tests/**/test_*.py")}  # fmt: skip
    folders = [
        ROOT / word
        for part in GATES["nightly"]
        if part.command.startswith("uv run pytest")
        for word in part.command.split()
        if "tests" in word
    ]
    assert len(files) > 600
    assert [path for path in files if not any(path.is_relative_to(folder) for folder in folders)] == []


def test_every_mutant_changes_one_place_of_its_file_and_names_tests_that_exist() -> None:
    found = read_mutants()
    assert len(found) >= 20
    assert len({mutant.subject for mutant in found}) >= 15
    for mutant in found:
        assert (ROOT / mutant.file).read_text().count(mutant.old) == 1, mutant.name
        assert all((ROOT / test).exists() for test in mutant.tests), mutant.name


@pytest.mark.parametrize(("new", "is_caught"), [("return 2", True), ("return 1  # same", False)])
def test_a_mutant_is_caught_if_a_test_fails_and_the_file_is_restored(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    new: str,
    is_caught: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    (tmp_path / "product.py").write_text("def one() -> int:\n    return 1\n")
    (tmp_path / "test_product.py").write_text(
        "import product\n\ndef test_one():\n    assert product.one() == 1\n"
    )
    command = [sys.executable, "-m", "pytest", "-q"]
    monkeypatch.setattr(mutants, "PYTEST_COMMAND", command)
    mutant = ProductMutant("m", "s", "product.py", "return 1", new, "It returns 2.", ["test_product.py"])
    result = try_mutant(mutant, tmp_path, [])
    assert result.is_caught == is_caught
    assert result.found_by == ("test_product.py::test_one" if is_caught else "")
    assert "return 1\n" in (tmp_path / "product.py").read_text()


def test_a_mutant_whose_tests_do_not_run_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "product.py").write_text("x = 1\n")
    monkeypatch.setattr(mutants, "PYTEST_COMMAND", [sys.executable, "-m", "pytest", "-q"])
    mutant = ProductMutant("m", "s", "product.py", "x = 1", "x = 2", "x", ["test_missing.py"])
    with pytest.raises(RuntimeError, match="did not run"):
        try_mutant(mutant, tmp_path, [])


def test_the_record_of_a_nightly_run_is_json_for_the_next_machine(tmp_path: Path) -> None:
    (tmp_path / "docs/benchmarks").mkdir(parents=True)
    NightlyRecord.read(tmp_path).add(PartResult("lint", 0, 60.4, 50.2, last_line="fine"), "aaaa1111")
    content = json.loads((tmp_path / "docs/benchmarks/nightly.json").read_text())
    assert content["lint"]["commit"] == "aaaa1111"
    assert content["lint"]["seconds"] == 60
