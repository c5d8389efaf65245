#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Claim: each checker and the runner see the fault they are there for.

Every case builds a small tree, runs the tool on it, and compares the exit
status; a planted fault must also be named in the output.  Next to each fault
stands the same tree without it, which must pass.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Tree:
    """A temporary source tree."""

    def __init__(self):
        self.tmp = tempfile.mkdtemp(prefix="pinfold-planted.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.tmp)

    def path(self, name):
        return os.path.join(self.tmp, name)

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def run(self, *command, **env):
        return subprocess.run(command, env=dict(os.environ, **env),
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)

    def check(self, tool):
        return self.run(f"{ROOT}/tools/{tool}", self.tmp)


def passes(result):
    assert result.returncode == 0, result.stdout


def fails(result, *words):
    assert result.returncode != 0, f"not noticed:\n{result.stdout}"
    for word in words:
        assert word in result.stdout, f"no {word!r} in:\n{result.stdout}"


@test
def checkers_without_inputs():
    for tool in ("check-headers", "check-includes", "check-pairs",
                 "check-clang"):
        with Tree() as tree:
            fails(tree.check(tool), f"{tool}: no ")


@test
def header_that_needs_another():
    with Tree() as tree:
        tree.write("lib/good.h", "#include <stddef.h>\nsize_t good(void);\n")
        passes(tree.check("check-headers"))
        tree.write("lib/needy.h", "size_t needy(void);\n")
        fails(tree.check("check-headers"), "lib/needy.h")


@test
def header_that_fails_in_debug_builds():
    with Tree() as tree:
        tree.write("lib/debug.h",
                   "#ifdef PINFOLD_DEBUG\nsize_t needy(void);\n#endif\n")
        fails(tree.check("check-headers"), "lib/debug.h", "PINFOLD_DEBUG")


@test
def public_header_with_an_extension():
    name = "include/pinfold/pinfold.h"
    with Tree() as tree:
        tree.write(name, "int pf_call(int nr);\n")
        passes(tree.check("check-headers"))
        tree.write(name, "struct pf_s { int n; int tail[0]; };\n")
        fails(tree.check("check-headers"), name, "strict C17")


@test
def public_header_that_is_not_cxx():
    name = "include/pinfold/pinfold.h"
    with Tree() as tree:
        tree.write(name, "int pf_call(int new);\n")
        fails(tree.check("check-headers"), name, "C++17")


@test
def include_that_points_upward():
    with Tree() as tree:
        tree.write("host/low.h", "")
        tree.write("mm/high.h", "")
        tree.write("mm/good.c", '#include "mm/high.h"\n#include "host/low.h"\n')
        passes(tree.check("check-includes"))
        tree.write("lib/bad.c", '\n#include "mm/high.h"\n')
        fails(tree.check("check-includes"), "lib/bad.c:2:")


@test
def include_that_does_not_exist():
    with Tree() as tree:
        tree.write("lib/bad.c", '#include "bad.h"\n')
        fails(tree.check("check-includes"), "lib/bad.c:1:")


@test
def system_header_outside_host():
    with Tree() as tree:
        tree.write("host/good.c", "#include <pthread.h>\n")
        tree.write("mm/good.c", "#include <bsd/sys/tree.h>\n")
        tree.write("lab/good.c", "#include <jansson.h>\n")
        passes(tree.check("check-includes"))
    for where, header in (("mm", "pthread.h"), ("bench", "sys/mman.h"),
                          ("lib", "stdatomic.h"), ("mm", "jansson.h"),
                          ("cli", "urcu/urcu-bp.h")):
        with Tree() as tree:
            tree.write(f"{where}/bad.c", f"#include <{header}>\n")
            fails(tree.check("check-includes"), f"{where}/bad.c:1:", header)


@test
def memory_order_outside_atomic_h():
    with Tree() as tree:
        tree.write("host/atomic.h", "int order = __ATOMIC_ACQUIRE;\n")
        tree.write("mm/good.c", "/* not __atomic_load_n() */\n")
        passes(tree.check("check-includes"))
        tree.write("mm/bad.c", "int f(int *p)\n{\n"
                   "\treturn __atomic_load_n(p, 0);\n}\n")
        fails(tree.check("check-includes"), "mm/bad.c:3:")


SIDE_A = """
/* [a-pair] raise, then read; paired with lower() */
void raise(void)
{
}
"""
SIDE_B = """
void lower(void)
{
	/*
	 * [a-pair] clear, then read; paired
	 * with raise()
	 */
	barrier();
}
"""


def write_pair(tree, a=SIDE_A, b=SIDE_B, document="# Ordering\n## [a-pair]\n"):
    tree.write("mm/a.c", a)
    tree.write("mm/b.c", b)
    tree.write("docs/ordering.md", document)
    return tree.check("check-pairs")


@test
def pair_that_is_whole():
    with Tree() as tree:
        passes(write_pair(tree))


@test
def pair_with_one_side():
    with Tree() as tree:
        fails(write_pair(tree, b="void lower(void)\n{\n}\n"), "one side")


@test
def pair_whose_function_is_gone():
    with Tree() as tree:
        fails(write_pair(tree, a=SIDE_A.replace("void raise", "void lift")),
              "raise() is gone")


@test
def pair_whose_function_is_only_declared():
    with Tree() as tree:
        fails(write_pair(tree, a=SIDE_A.replace("lower()", "rest()") +
                         "void rest(void);\n"), "rest() is gone")


@test
def pair_that_names_the_wrong_function():
    with Tree() as tree:
        tree.write("mm/c.c", "void other(void)\n{\n}\n")
        fails(write_pair(tree, a=SIDE_A.replace("lower()", "other()")),
              "no other side is where other() is")


@test
def pair_that_names_nobody():
    with Tree() as tree:
        fails(write_pair(tree, a=SIDE_A.replace("; paired with lower()", "")),
              "lacks")


@test
def reference_to_a_pair():
    with Tree() as tree:
        tree.write("mm/c.h", "/* as in [a-pair], of array[with-index] */\n")
        passes(write_pair(tree))
        tree.write("mm/c.h", "/* as in [old-pair] */\n")
        fails(tree.check("check-pairs"), "mm/c.h:1: [old-pair] has no sides")


@test
def pair_without_an_explanation():
    with Tree() as tree:
        fails(write_pair(tree, document="# Ordering\n"), "not explained")


@test
def explanation_without_a_pair():
    with Tree() as tree:
        fails(write_pair(tree, document="## [a-pair]\n\n## [old-pair]\n"),
              "no source has [old-pair]")


@test
def source_that_clang_rejects():
    with Tree() as tree:
        tree.write("lib/good.c", "int good;\n")
        passes(tree.check("check-clang"))
        # gcc takes this without a word
        tree.write("lib/bad.c", "int f(int n);\n"
                   "int f(int n)\n{\n\tn = n;\n\treturn n;\n}\n")
        fails(tree.check("check-clang"), "bad.c")


@test
def source_that_fails_in_one_configuration():
    for define in ("PINFOLD_COUNTING", "PINFOLD_LAB", "PINFOLD_SCHED"):
        with Tree() as tree:
            tree.write("lib/bad.c", f"#ifdef {define}\n#error no\n#endif\n"
                       "int good;\n")
            fails(tree.check("check-clang"), "bad.c")


def runner_tree(tree, script=None, skips=""):
    """A tree that holds the runner and one test script."""
    os.makedirs(tree.path("tools"))
    shutil.copy(f"{ROOT}/tools/run-tests", tree.path("tools"))
    tree.write("tests/skips.txt", skips)
    if script is not None:
        tree.write("tests/planted_test", "#!/bin/sh\n" + script, 0o755)
    return tree


def run_runner(tree, **env):
    return tree.run(tree.path("tools/run-tests"), tree.path("build"), **env)


@test
def runner_counts():
    with Tree() as tree:
        runner_tree(tree, "echo ok 1 - a\necho 'ok 2 - b # SKIP no'\n",
                    "planted_test:b it needs nothing\n")
        result = run_runner(tree)
        passes(result)
        assert result.stdout.endswith("\n1 passed, 0 failed, 1 skipped\n"), \
            result.stdout


@test
def runner_without_tests():
    with Tree() as tree:
        fails(run_runner(runner_tree(tree)), "0 passed, 0 failed, 0 skipped")
    with Tree() as tree:
        fails(run_runner(runner_tree(tree, "exit 0\n")), "no tests")


@test
def runner_sees_failures():
    for script, word in (("echo ok 1 - a\necho not ok 2 - b\n", "failed: b"),
                         ("echo ok 1 - a\nexit 3\n", "exit status 3"),
                         ("echo ok 1 - a\nkill -ABRT $$\n", "exit status -6"),
                         ("echo ok 1 - a\nsleep 60\n", "timeout")):
        with Tree() as tree:
            runner_tree(tree, script)
            fails(run_runner(tree, PINFOLD_TEST_TIMEOUT="2"), word,
                  "\n1 passed, 1 failed, 0 skipped\n")


@test
def runner_sees_an_unlisted_skip():
    with Tree() as tree:
        runner_tree(tree, "echo ok 1 - a\necho 'ok 2 - b # SKIP no'\n")
        fails(run_runner(tree), "planted_test:b")


LEAK = """
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
char *volatile kept;
static void planted(void **state)
{
	(void)state;
	kept = malloc(100);
	kept = NULL;
}
int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(planted) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
"""


@test
def runner_sees_a_leak():
    with Tree() as tree:
        runner_tree(tree)
        tree.write("tests/leak.c", LEAK)
        os.makedirs(tree.path("build/tests"))
        passes(tree.run("gcc", "-fsanitize=address", tree.path("tests/leak.c"),
                        "-o", tree.path("build/tests/leak"), "-lcmocka"))
        fails(run_runner(tree), "LeakSanitizer",
              "\n1 passed, 1 failed, 0 skipped\n")


@test
def runner_sees_a_program_that_was_not_built():
    with Tree() as tree:
        runner_tree(tree)
        tree.write("tests/absent.c", "int main;\n")
        fails(run_runner(tree), "absent", "cannot run")


def run_setup(tree, lines, user):
    """tools/setup where dpkg-query prints @lines and the user is @user."""
    tree.write("bin/dpkg-query", f"#!/bin/sh\ncat <<'E'\n{lines}E\n", 0o755)
    tree.write("bin/id", f"#!/bin/sh\necho {user}\n", 0o755)
    tree.write("bin/apt-get", "#!/bin/sh\necho apt-get $*>&2\n"
               "echo \"$*\" >>$0.log\n", 0o755)
    return tree.run(f"{ROOT}/tools/setup",
                    PATH=tree.path("bin") + ":" + os.environ["PATH"])


@test
def setup_as_a_user():
    with Tree() as tree:
        fails(run_setup(tree, "installed gcc\nconfig-files meson\n", 1000),
              "\nsudo apt-get install -y ", " meson ")
        assert not os.path.exists(tree.path("bin/apt-get.log"))


@test
def setup_as_root():
    with Tree() as tree:
        passes(run_setup(tree, "installed gcc\n", 0))
        with open(tree.path("bin/apt-get.log"), encoding="utf-8") as log:
            asked = log.read()
        assert " meson " in asked and " gcc " not in asked, asked


WOVEN = """int f(int n);
int f(int n)
{
	int sum = 0;

	if (n > 3 &&
	    n < 9) {
		sum += 1;
		sum += 2;
	}
	while (n > 100)
		n -= 10;
	sum += n;
	return sum;
}
"""


def weave_tree(tree, source=WOVEN, **patches):
    """A tree with mm/a.c and patches: (removed or kept lines, hunk)."""
    os.makedirs(tree.path("tools"))
    shutil.copy(f"{ROOT}/tools/weave-mutants", tree.path("tools"))
    tree.write("mm/a.c", source)
    for name, hunk in patches.items():
        tree.write(f"lab/mutants/{name.replace('_', '-')}.patch",
                   "It is wrong then.\nFound-by: meeting\n\n"
                   "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,1 +1,1 @@\n" + hunk)
    return tree


def weave(tree, *args):
    args = args or ("mm/a.c", tree.path("woven.c"))
    return tree.run(tree.path("tools/weave-mutants"), *args)


def woven_answer(tree, mutant, n):
    """f(@n) of the woven source with that mutant on."""
    passes(weave(tree))
    passes(weave(tree, "--table", tree.path("table.c")))
    tree.write("main.c", """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lab/explore/mutant.h"
int f(int n);
int main(int argc, char **argv)
{
	for (const struct mutant *m = mutants; m->name; m++)
		if (!strcmp(m->name, argv[1]))
			lab_mutant = m->number;
	printf("%d", argc > 2 ? f(atoi(argv[2])) : 0);
	return 0;
}
""")
    passes(tree.run("gcc", "-Wall", "-Werror", f"-I{ROOT}", "-o",
                    tree.path("woven"), tree.path("main.c"),
                    tree.path("table.c"), tree.path("woven.c")))
    result = tree.run(tree.path("woven"), mutant, str(n))
    passes(result)
    return int(result.stdout)


LESS = " \t\tsum += 1;\n-\t\tsum += 2;\n"
MORE = " \tsum += n;\n+\tsum *= 10;\n+\tsum++;\n"
HEAD = "-\tif (n > 3 &&\n-\t    n < 9) {\n+\tif (n > 3) {\n"
LOOP = "-\twhile (n > 100)\n+\twhile (n > 50)\n"
OTHER = "-\tsum += n;\n+\tsum -= n;\n"


@test
def woven_faults_do_what_they_say():
    with Tree() as tree:
        weave_tree(tree, less=LESS, more=MORE, a_head=HEAD, loop=LOOP)
        for mutant, n, answer in (("none", 5, 8), ("none", 10, 10),
                                  ("none", 105, 95), ("less", 5, 6),
                                  ("more", 5, 81), ("a-head", 10, 13),
                                  ("a-head", 5, 8), ("loop", 105, 45)):
            found = woven_answer(tree, mutant, n)
            assert found == answer, (mutant, n, found)


@test
def woven_faults_at_one_place():
    with Tree() as tree:
        weave_tree(tree, less=LESS, minus=OTHER,
                   head=HEAD, other_head=HEAD.replace("(n > 3)", "(n > 4)"),
                   twice=OTHER.replace("sum -= n", "sum += 2 * n"))
        for mutant, answer in (("none", 8), ("minus", -2), ("twice", 13),
                               ("other-head", 8), ("less", 6)):
            found = woven_answer(tree, mutant, 5)
            assert found == answer, (mutant, found)


@test
def woven_lines_keep_their_numbers():
    with Tree() as tree:
        lines = WOVEN.splitlines()
        lines[lines.index("\treturn sum;")] = "\treturn sum + __LINE__;"
        weave_tree(tree, "\n".join(lines) + "\n", less=LESS, more=MORE,
                   head=HEAD)
        # 14: where return is in the source
        assert woven_answer(tree, "none", 5) == 8 + 14
        assert woven_answer(tree, "more", 5) == 81 + 14


@test
def woven_sources_and_table():
    with Tree() as tree:
        weave_tree(tree, less=LESS)
        result = weave(tree, "--sources")
        passes(result)
        assert result.stdout == "mm/a.c\n", result.stdout


@test
def fault_whose_lines_are_gone():
    with Tree() as tree:
        weave_tree(tree, less=LESS.replace("+= 1", "+= 9"), more=MORE)
        fails(weave(tree, "--check"), "less.patch", "0 times")
        result = weave(tree)
        passes(result)
        assert "left out" in result.stdout


@test
def fault_whose_lines_are_twice_there():
    with Tree() as tree:
        weave_tree(tree, WOVEN.replace("sum += 1", "sum += 2"),
                   two="-\t\tsum += 2;\n+\t\tsum += 3;\n")
        fails(weave(tree, "--check"), "two.patch", "2 times")


@test
def faults_that_overlap():
    with Tree() as tree:
        both = "-\t\tsum += 1;\n-\t\tsum += 2;\n+\t\tsum += 4;\n"
        fails(weave(weave_tree(tree, less=LESS, both=both)), "mm/a.c:9",
              "overlap")


@test
def fault_that_names_no_scenario():
    with Tree() as tree:
        weave_tree(tree)
        tree.write("lab/mutants/bad.patch", "It is wrong.\n\n--- a/mm/a.c\n"
                   "+++ b/mm/a.c\n@@ -1,1 +1,1 @@\n" + LESS)
        fails(weave(tree), "bad.patch", "Found-by")


@test
def mutants_that_are_missing():
    with Tree() as tree:
        fails(tree.run(f"{ROOT}/tools/run-mutants", tree.tmp), "no mutants")


@test
def mutant_that_names_no_test():
    with Tree() as tree:
        tree.write("planted.patch", "--- a/host/none.c\n+++ b/host/none.c\n")
        fails(tree.run(f"{ROOT}/tools/run-mutants", tree.tmp), "Caught-by")


def main():
    bad = 0
    print(f"1..{len(TESTS)}")
    for nr, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {nr} - {function.__name__}", flush=True)
        except Exception:
            bad = 1
            print(f"not ok {nr} - {function.__name__}")
            print("# " + traceback.format_exc().replace("\n", "\n# "),
                  flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
