#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Claim: `pinfold race` finds every fault of lab/mutants, replays each seed to
the same failure, finds nothing in the engine as it is, keeps its limits, and
says in one line what is wrong with a call.

The binary is $PINFOLD, or pinfold in $PINFOLD_BUILD or build/.
PINFOLD_RACE_SECONDS is the time for each scenario of the engine as it is; with
it (tools/run-tests --long) they are searched up to bound 2, and with weak memory.
"""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PINFOLD_BUILD", os.path.join(ROOT, "build"))
PINFOLD = os.environ.get("PINFOLD", os.path.join(BUILD, "pinfold"))
LONG = int(os.environ.get("PINFOLD_RACE_SECONDS", "0"))
FAULT = ("pin_vs_dontneed", "--mutant", "grab-after-unlock")
# A barrier that x86 would not need for loads: only stale loads show it missing.
WEAK_ONLY = ("wake-up-lost", "sleep-not-announced")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def names(folder, end):
    found = sorted(os.path.basename(path)[:-len(end)] for path in
                   glob.glob(f"{ROOT}/lab/{folder}/*{end}"))
    assert found, folder
    return found


def race(*args):
    return subprocess.run([PINFOLD, "race", *args], text=True,
                          capture_output=True, check=False)


def wrong(words, *args, status=2):
    """One line that has the words, and nothing on standard output."""
    result = race(*args)
    assert result.returncode == status, (args, result)
    assert result.stderr.count("\n") == 1, result.stderr
    assert words in result.stderr, (words, result.stderr)
    assert result.stdout == "", result.stdout


def lines(*args, status=None):
    result = race(*args, "--json", "-")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    broken = [row for row in found if row["found"]]
    if status is None:
        status = int(bool(broken))
    assert result.returncode == status, (broken, result.returncode)
    assert found, (args, result)
    return found


def one(*args):
    found = lines(*args)
    assert len(found) == 1, found
    return found[0]


@test
def wrong_calls():
    wrong("no scenario 'nope'", "nope")
    wrong("no strategy 'best'", "--strategy", "best")
    wrong("--bound takes a number from 0 to 16, not '17'", "--bound", "17")
    wrong("not 'x'", "--bound", "x")
    wrong("not '-1'", "--seconds", "-1")
    wrong("not '1.5'", "--seconds", "1.5")
    wrong("not 'many'", "--schedules", "many")
    wrong("not '18446744073709551616'", "--seed", "18446744073709551616")
    wrong("no mutant 'nope'", "--mutant", "nope")
    wrong("exclude each other", "--mutants", "--mutant", "wake-up-lost")
    wrong("no mutant is looked for", "--mutants", "unpin_vs_unpin")
    wrong("'--nope'", "--nope")
    wrong("'-x'", "-x")
    wrong("'--seconds' needs a value", "--seconds")
    wrong("/no/such/file", "unpin_vs_unpin", "--json", "/no/such/file",
          status=1)


@test
def wrong_seeds():
    for seed in ("", ":", "pin_vs_dontneed", "nope:a1b", "pin_vs_dontneed:",
                 "pin_vs_dontneed:a1", "pin_vs_dontneed:a1q",
                 "pin_vs_dontneed:e1b", "pin_vs_dontneed:a1b.",
                 "pin_vs_dontneed:a1b,b2a", "pin_vs_dontneed:ab",
                 "pin_vs_dontneed:a1~", "pin_vs_dontneed:a-1b"):
        wrong(f"'{seed}' is no seed", "--replay", seed)
    wrong("no mutant 'nope'", "--replay", "pin_vs_dontneed+nope:a1b")
    wrong("--replay names its scenario", "--replay", "pin_vs_dontneed:a1b",
          "pin_vs_dontneed")


@test
def list_has_all():
    result = race("--list")
    assert result.returncode == 0 and result.stderr == "", result
    scenarios, mutants = result.stdout.split("\nmutants\n")
    first = [line.split()[0] for line in scenarios.splitlines()
             if not line.startswith(" ")]
    assert first == names("scenarios", ".c"), set(names("scenarios", ".c")) \
        ^ set(first)
    first = [line.split()[0] for line in mutants.splitlines()
             if not line.startswith(" ")]
    assert first == names("mutants", ".patch"), first
    assert race("--help").returncode == 0


@test
def keys_of_a_line():
    row = one("unpin_vs_unpin", "--bound", "1", "--seed", "7")
    assert set(row) == {"schema", "scenario", "strategy", "bound", "seed",
                        "schedules", "seconds", "exhausted", "found"}, row
    assert row["schema"] == 1 and row["scenario"] == "unpin_vs_unpin"
    assert row["strategy"] == "exhaustive" and row["bound"] == 1
    assert row["seed"] == 7 and row["schedules"] > 1
    assert row["exhausted"] is True and row["found"] is False
    row = one(*FAULT)
    assert row["mutant"] == FAULT[2] and row["found"] is True
    assert row["failure"] == "check failed" and row["replayed"] is True
    assert "pin_vs_dontneed.c:" in row["text"], row
    assert re.fullmatch(r"pin_vs_dontneed\+grab-after-unlock:[a_]\d+b",
                        row["replay"]), row


@test
def json_to_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows")
        result = race(*FAULT, "--json", path)
        assert result.returncode == 1 and "check failed" in result.stdout
        with open(path, encoding="utf-8") as file:
            assert json.loads(file.read())["found"]


@test
def what_is_printed():
    result = race(*FAULT)
    assert result.returncode == 1 and result.stderr == "", result
    head, first = result.stdout.splitlines()[:2]
    assert head.split() == ["scenario", "strategy", "schedules", "a", "second",
                            "seconds", "points", "found"], head
    assert first.startswith("pin_vs_dontneed ") and \
        first.endswith("check failed"), first
    assert "claim: " in result.stdout
    assert "pinfold race --replay 'pin_vs_dontneed+" in result.stdout


@test
def trace_of_a_replay():
    seed = one(*FAULT)["replay"]
    result = race("--replay", seed)
    assert result.returncode == 1, result
    for words in ("--- pin", "--- dontneed", "follow_page_pte() mm/gup.c:",
                  "zap_pte_range() mm/memory.c:", "_refcount: ", " => ",
                  "lock of table ", ": released", seed):
        assert words in result.stdout, (words, result.stdout)
    # a thread a column, and turns in the order of the seed
    turns = [line for line in result.stdout.splitlines() if "---" in line]
    assert [turn.strip(" -|") for turn in turns] == ["pin", "dontneed",
                                                     "pin"], turns
    assert turns[0].startswith("--- pin") and turns[1].startswith(" ")


@test
def seeds_replay_in_new_processes():
    weak = [("pin_vs_munmap", "--strategy", "weak", "--mutant", mutant)
            for mutant in WEAK_ONLY]
    for search in (FAULT, *weak):
        row = one(*search)
        texts = set()
        for _ in range(10):
            result = race("--replay", row["replay"])
            assert result.returncode == 1, (row, result)
            assert f": {row['failure']}: {row['text']}" in result.stdout, \
                (row, result.stdout)
            # pointers of the host are where it likes them
            texts.add(re.sub(r"0x[0-9a-f]{9,} *", "", result.stdout))
        assert len(texts) == 1, texts


@test
def replay_of_a_good_schedule():
    result = race("--replay", "pin_vs_dontneed:-")
    assert result.returncode == 0 and "nothing broke" in result.stdout
    # the turn that the fault needs does no harm without it
    seed = one(*FAULT)["replay"]
    result = race("--replay", seed.replace("+" + FAULT[2], ""))
    assert result.returncode == 0, result


@test
def same_seed_same_search():
    for strategy in ("random", "pct"):
        def search(seed):
            row = one(*FAULT, "--strategy", strategy, "--seed", seed)
            del row["seconds"]
            return row
        rows = [search("3"), search("3"), search("4"), search("5")]
        assert rows[0] == rows[1], rows
        assert rows[0]["found"] and rows[0]["replayed"], rows
        # not the same luck each time
        assert len({(r["schedules"], r["replay"]) for r in rows}) > 1, rows


@test
def the_same_search_wherever_memory_lies():
    def search(_):
        return [row["schedules"] for row in
                lines("hugetlb_first_pins", "writes_vs_zero_page", "--bound",
                      "1", "--seconds", "0")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(search, range(4)))
    assert all(count == counts[0] for count in counts), counts


@test
def as_many_schedules_as_asked():
    for strategy in ("exhaustive", "pct", "random", "weak"):
        row = one("pin_vs_munmap", "--strategy", strategy, "--schedules", "20")
        assert row["schedules"] == 20 and not row["exhausted"], row
        assert row["strategy"] == strategy, row


@test
def as_long_as_asked():
    row = one("first_touch_three", "--bound", "16", "--seconds", "1")
    assert 0.9 < row["seconds"] < 10 and not row["exhausted"], row


@test
def each_strategy_searches():
    for strategy in ("exhaustive", "pct", "random", "weak"):
        row = one("unpin_vs_unpin", "--strategy", strategy, "--schedules",
                  "2000")
        assert not row["found"] and row["schedules"] > 50, row
        assert row["exhausted"] == (strategy in ("exhaustive", "weak")), row
        row = one(*FAULT, "--strategy", strategy)
        assert row["found"] and row["replayed"], row


@test
def only_weak_memory_shows_these():
    for mutant in WEAK_ONLY:
        row = one("pin_vs_munmap", "--mutant", mutant, "--bound", "2",
                  "--seconds", "0")
        assert row["exhausted"] and not row["found"], row
        row = one("pin_vs_munmap", "--mutant", mutant, "--strategy", "weak")
        assert row["found"] and row["failure"] == "deadlock", row
        assert "~" in row["replay"], row


@test
def every_mutant_is_found():
    result = race("--mutants", "--json", "-")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    missed = [row["mutant"] for row in found if not row["found"]]
    assert result.returncode == 0 and not missed, (missed, result.stderr)
    assert sorted(row["mutant"] for row in found) == names("mutants",
                                                           ".patch"), found
    for row in found:
        assert row["found"] and row["replayed"], row
        assert row["seconds"] < 60, row


@test
def a_mutant_that_is_missed():
    # the right scenario, but a schedule a strategy is too few
    found = lines("lru_batch_fills", "--mutants", "--schedules", "1",
                  status=1)
    missed = [row["mutant"] for row in found if not row["found"]]
    assert "lru-batch-two-holds" in missed, found


def clean(scenarios, *args):
    rows = lines(*scenarios, *args, status=0)
    assert [row["scenario"] for row in rows] == scenarios, rows
    bad = [row for row in rows if row["found"] or row["schedules"] < 2]
    assert not bad, bad
    return [row["scenario"] for row in rows if not row["exhausted"]]


def clean_all(*args):
    """Each scenario without a fault, by two processes; those not finished."""
    scenarios = names("scenarios", ".c")
    # Neighbours by name are alike: each process gets every other one.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda part: clean(part, *args),
                              [scenarios[::2], scenarios[1::2]]))
    return sum(parts, [])


@test
def the_engine_is_clean():
    if LONG:
        limits = ["--bound", "2", "--seconds", str(LONG)]
    else:
        limits = ["--bound", "1", "--seconds", "1", "--schedules", "250"]
    left = clean_all(*limits)
    print(f"# not finished with {' '.join(limits)}: {' '.join(left)}")
    assert len(left) < len(names("scenarios", ".c")) / 2, left


@test
def the_engine_is_clean_with_weak_memory():
    if LONG:
        clean_all("--strategy", "weak", "--bound", "1", "--seconds", str(LONG))
    else:
        for name in ("unpin_vs_unpin", "fast_pin_vs_munmap", "get_vs_pin"):
            if name in names("scenarios", ".c"):
                clean([name], "--strategy", "weak", "--bound", "1",
                      "--seconds", "1")


def main():
    bad = 0
    print(f"1..{len(TESTS)}")
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {number} {function.__name__}", flush=True)
        except Exception:       # pylint: disable=broad-except
            bad = 1
            traceback.print_exc()
            print(f"not ok {number} {function.__name__}", flush=True)
    return bad


sys.exit(main())
