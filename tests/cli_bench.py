#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Claim: `pinfold bench` and `pinfold vtop` print what they promise, in JSON of
schema 1 too, say in one line what is wrong, and exit 0, 1 or 2.

The binary is $PINFOLD, or pinfold in $PINFOLD_BUILD or build/.
"""
import json
import os
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PINFOLD_BUILD", os.path.join(ROOT, "build"))
PINFOLD = os.environ.get("PINFOLD", os.path.join(BUILD, "pinfold"))
SAMPLE = os.path.join(ROOT, "examples/shell.layout")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def pinfold(*args, **kwargs):
    return subprocess.run([PINFOLD, *args], text=True, capture_output=True,
                          check=False, **kwargs)


def wrong(status, words, *args):
    """One line that has the words, and nothing on standard output."""
    result = pinfold(*args)
    assert result.returncode == status, (args, result)
    assert result.stderr.count("\n") == 1, result.stderr
    assert words in result.stderr, (words, result.stderr)
    assert result.stdout == "", result.stdout


def rows(*args, suite="walk"):
    result = pinfold("bench", suite, *args, "--json", "-")
    assert result.returncode in (0, 1), result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    # a figure that beats the limit on a busy machine is no broken row
    assert all(r["status"] == "ok" or "beats" in r["reason"] for r in found), \
        found
    return found, result.stderr


@test
def every_row_and_key():
    found, tables = rows("-m", "8", "-r", "1")
    names = [(r["frames"], r["shape"], r["algo"]) for r in found]
    assert names == [(f, s, a) for f in ("ordered", "shuffled")
                     for s in ("4K", "64K", "2M")
                     for a in ("single", "walk", "batch", "limit")], names
    for row in found:
        assert row["schema"] == 1 and row["suite"] == "walk"
        assert row["source"] == "engine" and row["bytes"] == 8 << 20
        assert row["pages_per_call"] == 512 and row["threads"] == 1
        for side in ("get", "put"):
            figure = row[f"{side}_ns_per_page"]
            assert 0 < figure["min"] <= figure["median"] <= figure["max"]
            assert row[f"{side}_limit_ratio"] > 0
    assert "frames ordered" in tables and "published for Linux" in tables


@test
def events_are_what_the_algorithms_are():
    found, _ = rows("-m", "8", "-r", "1", "--frames", "ordered")
    get = {(r["shape"], r["algo"]): r["events"]["get"] for r in found}
    put = {(r["shape"], r["algo"]): r["events"]["put"] for r in found}

    def near(value, right):
        assert abs(value - right) < 0.0005, (value, right)

    near(get["4K", "single"]["walks"], 1)
    near(get["4K", "single"]["ptl"], 1)
    near(get["4K", "batch"]["walks"], 1 / 512)
    near(get["4K", "batch"]["atomics"], 1)
    near(get["64K", "walk"]["atomics"], 2)
    near(get["64K", "batch"]["atomics"], 2 / 16)
    near(get["64K", "batch"]["folio_lookups"], 1 / 16)
    near(get["2M", "single"]["atomics"], 4 / 512)
    near(get["2M", "batch"]["atomics"], 2 / 512)
    for shape, atomics in (("4K", 1), ("64K", 2 / 16), ("2M", 2 / 512)):
        near(get[shape, "limit"]["atomics"], atomics)
        near(put[shape, "batch"]["atomics"], atomics)


@test
def longterm_rows():
    found, tables = rows("-m", "8", "-r", "1", "--frames", "ordered",
                         "--folio", "4K,64K,2M", suite="longterm")
    assert [r["algo"] for r in found] == ["per-page", "per-folio",
                                          "limit"] * 3, found
    get = {(r["shape"], r["algo"]): r["events"]["get"] for r in found}
    # the walk finds each page's folio once, the look at the result again
    for shape, algo, lookups in (("4K", "per-page", 2), ("4K", "per-folio", 2),
                                 ("64K", "per-page", 1 + 1 / 16),
                                 ("64K", "per-folio", 2 / 16),
                                 ("2M", "per-page", 1 + 1 / 512),
                                 ("2M", "per-folio", 2 / 512)):
        value = get[shape, algo]["folio_lookups"]
        assert abs(value - lookups) < 0.0005, (shape, algo, value, lookups)
    assert "published for Linux: 2.96x" in tables


@test
def fast_rows():
    found, tables = rows("-m", "8", "-r", "1", "--frames", "ordered",
                         "--folio", "4K,64K,2M", suite="fast")
    table = [r for r in found if "part" not in r]
    assert [r["algo"] for r in table] == ["none", "after", "inside",
                                          "limit"] * 3, table
    assert all(r["pages_per_call"] == 64 for r in table)
    get = {(r["shape"], r["algo"]): r["events"]["get"] for r in table}
    # one read-modify-write a small page; two a call and large folio
    for shape, atomics in (("4K", 1), ("64K", 2 / 16), ("2M", 2 / 64)):
        for algo in ("none", "after", "inside", "limit"):
            value = get[shape, algo]["atomics"]
            assert abs(value - atomics) < 0.0005, (shape, algo, value)
    assert all(get[key]["ptl"] == 0 for key in get)
    assert get["4K", "inside"]["walks"] == 1 / 64
    # the pass behind the walk looks at each page once more
    more = get["2M", "after"]["folio_lookups"] - \
        get["2M", "inside"]["folio_lookups"]
    assert abs(more - 1) < 0.0005, more
    curve = {r["pages_per_call"] for r in found if r.get("part") == "curve"}
    assert curve == {1, 4, 16, 64, 256, 1024, 4096}, curve
    assert len([r for r in found if r.get("part") == "2019"]) == 7
    assert "640.41" in tables and "pages a call, 4K" in tables
    # 8 MiB are too few to scatter CMA pages in
    assert "a CMA page" not in tables
    # without 4K folios the table is all there is
    found, tables = rows("-m", "8", "-r", "1", "--folio", "2M", suite="fast")
    assert all("part" not in r for r in found)
    assert "2019" not in tables


@test
def populate_rows():
    found, tables = rows("-m", "8", "-r", "1", suite="populate")
    batches = [("batch", n) for n in (8, 16, 31, 64, 128, 512)]
    parts = {"index": [("one", 1)] + batches + [("limit", 0)],
             "query": [("query-one", 1), ("query-batch", 31), ("limit", 0)],
             "index-half": [("one", 1), ("batch", 64), ("limit", 0)],
             "copy": [("one", 1), ("batch", 64), ("limit", 0)],
             "copy-half": [("one", 1), ("batch", 64), ("limit", 0)],
             "copy-cold": [("one", 1), ("batch", 64), ("limit", 0)]}
    names = [(r["frames"], r["shape"], r["part"], r["algo"],
              r["pages_per_call"] * 4096 // r["folio_bytes"]) for r in found]
    assert names == [(f, s, p, a, n) for f in ("ordered", "shuffled")
                     for s in ("4K", "64K", "2M") for p in parts
                     if (f == "ordered" or p in ("index", "query", "copy"))
                     and (s == "4K" or p != "copy-half")
                     for a, n in parts[p]
                     if f == "ordered" or a != "batch" or n == 64], names
    for row in found:
        assert row["schema"] == 1 and row["suite"] == "populate"
        assert row["source"] == "engine" and row["bytes"] == 8 << 20
        assert row["copy"] == row["part"].startswith("copy")
        figure = row["ns_per_page"]
        assert 0 < figure["min"] <= figure["median"] <= figure["max"]
        assert row["limit_ratio"] > 0 and row["gib_per_s"] > 0
        assert "get_ns_per_page" not in row and "put_limit_ratio" not in row
    assert "published for Linux" in tables and "10.3%" in tables
    assert "target >= 3" in tables


@test
def populate_events():
    found, _ = rows("-m", "8", "-r", "1", "--frames", "ordered", "--folio",
                    "4K,2M", suite="populate")
    events = {(r["shape"], r["part"], r["algo"],
               r["pages_per_call"] * 4096 // r["folio_bytes"]):
              r["events"]["get"] for r in found if "events" in r}

    def near(value, right):
        assert abs(value - right) < 0.001, (value, right)

    # a leaf of the index is 64 pages; every node costs one try more
    near(events["4K", "index", "batch", 64]["xa_lock"], 1 / 64)
    near(events["4K", "index", "batch", 512]["xa_lock"], 1 / 64)
    near(events["4K", "index", "batch", 16]["xa_lock"], 1 / 16)
    assert 1 <= events["4K", "index", "one", 1]["xa_lock"] < 1.02
    assert events["4K", "index", "one", 1]["xa_descents"] > 2
    assert events["4K", "index", "batch", 64]["xa_descents"] < 0.05
    # the reference that is put, and the count of the file's pages
    near(events["4K", "index", "batch", 64]["atomics"], 1 + 1 / 64)
    near(events["4K", "query", "query-one", 1]["xa_descents"], 1)
    near(events["4K", "query", "query-batch", 31]["atomics"], 2)
    near(events["2M", "index", "batch", 64]["xa_lock"], 1 / 512)


@test
def populate_options():
    found, _ = rows("-m", "16", "-r", "1", "-j", "2", "--frames", "shuffled",
                    "--folio", "4K,1G", "-n", "32", suite="populate")
    assert {r["threads"] for r in found} == {2}
    assert {r["shape"] for r in found} == {"4K"}
    assert {r["pages_per_call"] for r in found if r["algo"] == "batch"} == {32}
    found, _ = rows("-m", "4", "-r", "1", "--algo", "query-batch",
                    suite="populate")
    assert {r["algo"] for r in found} == {"query-batch", "limit"}
    assert {r["part"] for r in found} == {"query"}
    wrong(2, "populate takes no", "bench", "populate", "--layout", SAMPLE)


@test
def fast_with_cma_pages():
    found, tables = rows("-m", "64", "-r", "1", "--frames", "ordered",
                         "--folio", "4K", "-n", "32", suite="fast")
    kept = {(r["shape"], r["algo"]): r["kept_per_call"] for r in found
            if "kept_per_call" in r}
    for place, pages in (("none", 32), ("first", 0), ("middle", 16),
                         ("last", 31)):
        for algo in ("after", "inside"):
            assert kept["CMA " + place, algo] == pages, (place, algo, kept)
        assert kept["CMA " + place, "none"] == 32
    assert "a CMA page in each call of 32 pages" in tables


@test
def movable_memory_refuses_longterm():
    result = pinfold("bench", "longterm", "-m", "8", "-r", "1", "--folio",
                     "4K", "--frames", "ordered", "--movable", "64", "--json",
                     "-")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 1
    assert all(r["status"] == "failed" and "ZONE_MOVABLE" in r["reason"]
               for r in found), found
    found, _ = rows("-m", "8", "-r", "1", "--movable", "64", "--cma", "8",
                    "--folio", "4K")
    assert all(r["status"] == "ok" or "beats" in r["reason"] for r in found)


@test
def gigantic_folios():
    found, _ = rows("-m", "1024", "-r", "1", "--folio", "1G",
                    suite="longterm")
    assert {r["folio_bytes"] for r in found} == {1 << 30}
    assert {r["frames"] for r in found} == {"ordered"}


@test
def threads_share_the_memory():
    found, _ = rows("-m", "16", "-r", "1", "-j", "2", "--folio", "4K,2M")
    assert {r["threads"] for r in found} == {2}
    assert {r["folio_bytes"] for r in found} == {4096, 2 << 20}


@test
def a_layout():
    found, tables = rows("--layout", SAMPLE, "-r", "1")
    assert [r["shape"] for r in found[::4]] == ["captured", "all 4K",
                                                "all 64K", "all 2M"], found
    assert "file mappings rebuilt as anonymous memory" in tables
    assert all("events" in r for r in found)


@test
def a_process():
    with subprocess.Popen(["sleep", "600"]) as child:
        found, tables = rows("--pid", str(child.pid), "-r", "1")
        child.kill()
    assert len(found) == 16 and all("events" in r for r in found)
    assert f"(process {child.pid})" in tables, tables


@test
def unknown_orders_are_said():
    with tempfile.NamedTemporaryFile("w", suffix=".layout") as file:
        file.write('{"pinfold_layout":1,"source":"x","page_size":4096,'
                   '"orders_known":false,"nr_vmas":1}\n'
                   '{"start":"0x10000000","end":"0x10004000","perms":"rw-p",'
                   '"file":false,"name":"","runs":[[4,null,1]]}\n')
        file.flush()
        found, tables = rows("--layout", file.name, "-r", "1")
    assert found[0]["shape"] == "assumed 4K"
    assert "assumed 4K where unknown" in tables


@test
def json_to_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows")
        result = pinfold("bench", "walk", "-m", "2", "-r", "1", "--json", path)
        assert result.stdout.startswith("walk: "), result.stdout
        with open(path, encoding="ascii") as file:
            assert len(file.readlines()) == 24
    result = pinfold("bench", "-m", "2", "-r", "1", "--json", "/no/such/file")
    assert result.returncode == 1 and "/no/such/file" in result.stderr, result


@test
def bad_arguments():
    wrong(2, "no suite 'wlak'", "bench", "wlak")
    wrong(2, "-m takes 2 to 261120, not '0'", "bench", "-m", "0")
    wrong(2, "even number of MiB, not '3'", "bench", "-m", "3")
    wrong(2, "not '99999999'", "bench", "-m", "99999999")
    wrong(2, "-n takes", "bench", "-n", "0")
    wrong(2, "-r takes 1 to 1001, not 'x'", "bench", "-r", "x")
    wrong(2, "-j takes 1 to 16, not '17'", "bench", "-j", "17")
    wrong(2, "not '8K'", "bench", "--folio", "4K,8K")
    wrong(2, "not '4M'", "bench", "--folio", "4M")
    wrong(2, "multiple of 4, not '6'", "bench", "--movable", "6")
    wrong(2, "--cma takes", "bench", "--cma", "x")
    wrong(2, "no algorithm 'fast'", "bench", "--algo", "batch,fast")
    wrong(2, "suite walk has none", "bench", "walk", "--algo", "per-folio")
    wrong(2, "not 'sorted'", "bench", "--frames", "sorted")
    wrong(2, "exclude", "bench", "--pid", "1", "--layout", "x")
    wrong(2, "--frames", "bench", "--layout", SAMPLE, "-m", "4")
    wrong(2, "'--nope'", "bench", "--nope")
    wrong(1, "no process 4194304", "bench", "--pid", "4194304")
    wrong(1, "/no/such/file", "bench", "--layout", "/no/such/file")
    wrong(1, PINFOLD, "bench", "--layout", PINFOLD)


@test
def more_memory_than_the_host_has():
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = next(int(line.split()[1]) for line in file
                   if line.startswith("MemAvailable"))
    # 83 bytes of descriptor, slot and table a page
    mib = kib // 1024 * 4096 // 83
    if mib > 261120:
        print("# the host could hold the largest machine", file=sys.stderr)
        mib = 261122
        wrong(2, f"not '{mib}'", "bench", "-m", str(mib))
    else:
        mib += mib % 2 + 4096
        if mib <= 261120:
            wrong(1, f"{mib} MiB need", "bench", "-m", str(mib))


@test
def vtop_walks():
    with open(SAMPLE, encoding="ascii") as file:
        for line in list(file)[1:]:
            vma = json.loads(line)
            if vma["runs"][0][2]:
                break
    result = pinfold("vtop", "--layout", SAMPLE, vma["start"])
    assert result.returncode == 0, result
    lines = result.stdout.splitlines()
    assert [line[:3] for line in lines[1:5]] == ["PGD", "PUD", "PMD", "PTE"]
    assert vma["start"] in lines[0] and "present" in lines[4]
    assert "order 0" in lines[5] and "refcount 1, mapcount 1" in lines[6]


@test
def vtop_wrong():
    wrong(2, "--layout FILE is missing", "vtop", "0x1000")
    wrong(2, "one ADDRESS", "vtop", "--layout", SAMPLE)
    wrong(2, "not 'here'", "vtop", "--layout", SAMPLE, "here")
    wrong(2, "not '0xffffffffffff'", "vtop", "--layout", SAMPLE,
          "0xffffffffffff")
    wrong(1, "/no/such/file", "vtop", "--layout", "/no/such/file", "0")
    result = pinfold("vtop", "--layout", SAMPLE, "0")
    assert result.returncode == 1
    assert "no area of the layout contains 0" in result.stderr


def main():
    print(f"1..{len(TESTS)}")
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {number} {function.__name__}", flush=True)
        except Exception:       # pylint: disable=broad-except
            traceback.print_exc()
            print(f"not ok {number} {function.__name__}", flush=True)


main()
