/* SPDX-License-Identifier: MIT */
/*
 * What of the catalogue of scenarios is not run, by id, and why: each is a
 * test that is skipped.  tests/skips.txt has the same list; an id that is
 * missing there fails the run.
 *
 * Source: semantics/gup.md 9.1, 9.2, 9.3, 9.9 ... 9.12; cases.md A, D, E
 */
#include "tests/mm_test.h"

struct absent {
	const char *id;
	const char *reason;
};

static const struct absent absent[] = {
	{ "gup_A7", "no io_uring: no fixed buffers to register" },
	{ "gup_A8", "no io_uring: no fixed buffers to register" },
	{ "gup_K2", "no swap: nothing is paged out" },
	{ "gup_K4", "no swap: nothing is paged out" },
	{ "gup_K6", "no swap: nothing is paged out" },
	{ "gup_K8", "no swap: nothing is paged out" },
	{ "gup_K11_1G",
	  "fills and copies gigantic pages: 3 GiB of host memory; see fork_hugetlb.c:gigantic_pages" },
	{ "gup_H1_shmem", "no file memory" },
	{ "gup_H1_order_2",
	  "collapse makes PMD-size pages only, as Linux 6.12" },
	{ "gup_H2_swapped",
	  "no swap: the limit is tested on made-up entries, collapse.c:test_gup_H2_swap" },
	{ "gup_H6_page_cache", "no file memory: no table is retracted" },
	{ "gup_S3", "no file memory" },
	{ "gup_O1", "no secretmem" },
	{ "gup_O5", "no device memory" },
	{ "gup_O6", "no file memory" },
	{ "gup_O7", "no KSM" },
	{ "gup_V14", "no migration: -ENOMEM instead, longterm.c:case_C1" },
	{ "gup_V17", "no file memory" },
	{ "gup_V18", "no memfd" },
	{ "case_A6_file",
	  "no file memory; the zero page's half is fork_pins.c:case_A6" },
	{ "case_D4_waiting",
	  "no migration: nobody ends a made-up entry; fast_results.c:case_D4_migration" },
};

static void not_run(void **state)
{
	const struct absent *what = *state;

	fprintf(stderr, "%s: %s\n", what->id, what->reason);
	skip();
}

/*
 * The reasons are written twice: here, and where the runner looks.  It starts
 * its programs in the root of the tree.
 */
static void reasons_agree(void **state)
{
	FILE *file = fopen("tests/skips.txt", "r");
	char line[256], wanted[256];
	unsigned int nr = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "gup_catalogue:", 14))
			continue;
		assert_true(nr < ARRAY_SIZE(absent));
		snprintf(wanted, sizeof(wanted), "gup_catalogue:%s %s\n",
			 absent[nr].id, absent[nr].reason);
		assert_string_equal(line, wanted);
		nr++;
	}
	fclose(file);
	assert_int_equal(nr, ARRAY_SIZE(absent));
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(absent) + 1] = {
		cmocka_unit_test(reasons_agree),
	};

	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		tests[i + 1] = (struct CMUnitTest){
			.name = absent[i].id, .test_func = not_run,
			.initial_state = (void *)&absent[i],
		};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
