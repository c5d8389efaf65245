/* SPDX-License-Identifier: MIT */
/*
 * Claim: a layout that is written reads back the same, and the reader refuses
 * every broken file in one line that names file, line and offending value.
 *
 * Source: docs/layout.md
 */
#include "lab/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/random.h"

#define HEADER	"{\"pinfold_layout\":1,\"source\":\"s\",\"page_size\":4096," \
		"\"orders_known\":true,\"nr_vmas\":1}\n"
#define HEADER2	"{\"pinfold_layout\":1,\"source\":\"s\",\"page_size\":4096," \
		"\"orders_known\":false,\"nr_vmas\":2}\n"
#define VMA(start, end, runs) \
	"{\"start\":\"" start "\",\"end\":\"" end "\",\"perms\":\"rw-p\"," \
	"\"file\":false,\"name\":\"\",\"runs\":" runs "}\n"
#define ONE_RUN(run)	HEADER VMA("0x10000", "0x14000", "[" run "]")

static char folder[64];
static char path[96];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/pinfold-test.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void write_text(const char *text, size_t bytes)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

/* The file is refused with @err, and the one line says @where and @what. */
static void assert_refused(int err, const char *where, const char *what)
{
	struct layout_error why = { "" };
	struct layout *l = NULL;

	assert_int_equal(layout_read(path, &l, &why), err);
	assert_null(l);
	if (!strstr(why.text, what) || !strstr(why.text, where))
		fail_msg("'%s' lacks '%s' or '%s'", why.text, where, what);
	assert_int_equal(strncmp(why.text, path, strlen(path)), 0);
	assert_null(strchr(why.text, '\n'));
}

static void random_runs(struct random *r, struct layout_vma *vma, bool known)
{
	u64 nr_pages = 0;

	vma->nr_runs = 1 + random_below(r, 20);
	vma->runs = calloc(vma->nr_runs, sizeof(*vma->runs));
	assert_non_null(vma->runs);
	for (size_t i = 0; i < vma->nr_runs; i++) {
		struct layout_run *run = &vma->runs[i];

		run->nr_pages = 1 + random_below(r, 1 << random_below(r, 15));
		run->resident = random_below(r, 2);
		run->order = LAYOUT_ORDER_UNKNOWN;
		if (run->resident && (known || random_below(r, 2)))
			run->order = (int8_t)random_below(r, 11);
		nr_pages += run->nr_pages;
	}
	vma->end = vma->start + nr_pages * LAYOUT_PAGE_BYTES;
}

static struct layout *random_layout(struct random *r)
{
	struct layout *l = calloc(1, sizeof(*l));
	pf_addr_t at = random_below(r, 2) ? 0 : 0x7f0000000000;

	assert_non_null(l);
	l->orders_known = random_below(r, 2);
	snprintf(l->source, sizeof(l->source), "a \"%d\" \\ b",
		 (int)random_below(r, 1000));
	l->nr_vmas = 1 + random_below(r, 30);
	l->vmas = calloc(l->nr_vmas, sizeof(*l->vmas));
	assert_non_null(l->vmas);
	for (size_t i = 0; i < l->nr_vmas; i++) {
		struct layout_vma *vma = &l->vmas[i];

		vma->start = at + random_below(r, 5) * LAYOUT_PAGE_BYTES;
		vma->read = random_below(r, 2);
		vma->write = random_below(r, 2);
		vma->exec = random_below(r, 2);
		vma->shared = random_below(r, 2);
		vma->file = random_below(r, 2);
		memset(vma->name, 'n', random_below(r, LAYOUT_NAME_BYTES));
		random_runs(r, vma, l->orders_known);
		at = vma->end;
	}
	return l;
}

static void assert_same(const struct layout *a, const struct layout *b)
{
	assert_string_equal(a->source, b->source);
	assert_int_equal(a->orders_known, b->orders_known);
	assert_int_equal(a->nr_vmas, b->nr_vmas);
	for (size_t i = 0; i < a->nr_vmas; i++) {
		const struct layout_vma *x = &a->vmas[i], *y = &b->vmas[i];

		assert_int_equal(x->start, y->start);
		assert_int_equal(x->end, y->end);
		assert_int_equal(x->read, y->read);
		assert_int_equal(x->write, y->write);
		assert_int_equal(x->exec, y->exec);
		assert_int_equal(x->shared, y->shared);
		assert_int_equal(x->file, y->file);
		assert_string_equal(x->name, y->name);
		assert_int_equal(x->nr_runs, y->nr_runs);
		for (size_t j = 0; j < x->nr_runs; j++) {
			assert_int_equal(x->runs[j].nr_pages,
					 y->runs[j].nr_pages);
			assert_int_equal(x->runs[j].order, y->runs[j].order);
			assert_int_equal(x->runs[j].resident,
					 y->runs[j].resident);
		}
	}
}

static void write_layout(const struct layout *l)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(layout_write(l, f), 0);
	assert_int_equal(fclose(f), 0);
}

static void test_round_trip(void **state)
{
	struct layout_error why;
	struct random r;

	(void)state;
	random_init(&r);
	for (int i = 0; i < 200; i++) {
		struct layout *l = random_layout(&r);
		struct layout *back = NULL;

		write_layout(l);
		if (layout_read(path, &back, &why))
			fail_msg("%s", why.text);
		assert_same(l, back);
		assert_int_equal(layout_resident_pages(l),
				 layout_resident_pages(back));
		if (l->orders_known)
			assert_int_equal(layout_unknown_pages(l), 0);
		layout_free(l);
		layout_free(back);
	}
}

/* Every proper prefix but the one that only lacks the last newline fails. */
static void test_truncation(void **state)
{
	static const char text[] =
		HEADER2 VMA("0x10000", "0x14000", "[[4,0,1]]")
		VMA("0x14000", "0x15000", "[[1,null,0]]");
	const size_t whole = sizeof(text) - 1;
	struct layout_error why;
	struct layout *l;

	(void)state;
	for (size_t n = 0; n < whole - 1; n++) {
		char where[16];
		int line = 1;

		/* a line that lacks only its newline is whole */
		for (size_t i = 0; i <= n; i++)
			line += text[i] == '\n';
		write_text(text, n);
		snprintf(where, sizeof(where), ":%d: ", line);
		assert_refused(-EINVAL, where, line == 1 ?
			       "not a pinfold layout" : "truncated");
	}
	write_text(text, whole - 1);
	assert_int_equal(layout_read(path, &l, &why), 0);
	layout_free(l);
}

#define REPLACED(from, to)	NULL, from, to
struct bad_file {
	int err;
	const char *where, *what;
	const char *text;
	const char *from, *to;	/* instead of @text: in the good file */
};

static const char good[] =
	HEADER VMA("0x10000", "0x14000", "[[2,0,1],[2,null,0]]");

static const struct bad_file bad_files[] = {
	{ -EINVAL, ":1: ", "\"pinfold_layout\"", "{}\n", NULL, NULL },
	{ -EINVAL, ":1: ", "[1,2] is not a JSON object", "[1,2]\n", NULL,
	  NULL },
	{ -EINVAL, ":1: ", "not a pinfold layout: not JSON", "#!/bin/sh\n",
	  NULL, NULL },
	{ -EINVAL, ":1: ", "empty line", "\n", NULL, NULL },
	{ -EINVAL, ":1: ", "version 2, supported is 1",
	  REPLACED("layout\":1", "layout\":2") },
	{ -EINVAL, ":1: ", "\"pinfold_layout\" is \"1\", not an integer",
	  REPLACED("layout\":1", "layout\":\"1\"") },
	{ -EINVAL, ":1: ", "page size 16384, supported is 4096",
	  REPLACED("4096", "16384") },
	{ -EINVAL, ":1: ", "\"page_size\" is 4096.0, not an integer",
	  REPLACED("4096", "4096.0") },
	{ -EINVAL, ":1: ", "\"nr_vmas\" is 0",
	  REPLACED("vmas\":1", "vmas\":0") },
	{ -EINVAL, ":1: ", "\"nr_vmas\" is -1",
	  REPLACED("vmas\":1", "vmas\":-1") },
	{ -E2BIG, ":1: ", "65531 VMAs, at most 65530",
	  REPLACED("vmas\":1", "vmas\":65531") },
	{ -EINVAL, ":1: ", "\"orders_known\" is 1, not true or false",
	  REPLACED("true", "1") },
	{ -EINVAL, ":1: ", "\"source\" is 5, not a string",
	  REPLACED("\"s\"", "5") },
	{ -EINVAL, ":1: ", "\"nr_vmas\" is missing",
	  REPLACED(",\"nr_vmas\":1", "") },
	{ -EINVAL, ":1: ", "unknown key \"more\"",
	  REPLACED("\"nr_vmas\":1", "\"nr_vmas\":1,\"more\":2") },
	{ -EINVAL, ":1: ", "duplicate",
	  REPLACED("\"nr_vmas\":1", "\"nr_vmas\":1,\"nr_vmas\":1") },
	{ -EINVAL, ":3: ", "a line after the last of 1 VMAs",
	  ONE_RUN("[4,0,1]") "{}\n", NULL, NULL },
	{ -EINVAL, ":3: ", "a line after the last of 1 VMAs",
	  ONE_RUN("[4,0,1]") "\n", NULL, NULL },
	{ -EINVAL, ":2: ", "not JSON", HEADER "{\"start\" 5}\n", NULL, NULL },
	{ -EINVAL, ":2: ", "empty line", HEADER "\n", NULL, NULL },
	{ -EINVAL, ":2: ", "\"runs\" is missing",
	  REPLACED(",\"runs\":[[2,0,1],[2,null,0]]", "") },
	{ -EINVAL, ":2: ", "\"start\" is 65536, not an address",
	  REPLACED("\"0x10000\"", "65536") },
	{ -EINVAL, ":2: ", "\"start\" is \"0x1000g\", not an address",
	  REPLACED("0x10000", "0x1000g") },
	{ -EINVAL, ":2: ", "\"start\" is \"-0x1000\", not an address",
	  REPLACED("0x10000", "-0x1000") },
	{ -EINVAL, ":2: ", "\"start\" is \"0x\", not an address",
	  REPLACED("0x10000", "0x") },
	{ -EINVAL, ":2: ", "\"start\" is \"0x10000000000001000\", not an addr",
	  REPLACED("0x10000", "0x10000000000001000") },
	{ -EINVAL, ":2: ", "\"end\" is \"0x800000001000\", beyond 2^47",
	  REPLACED("0x14000", "0x800000001000") },
	{ -EINVAL, ":2: ", "\"start\" is \"0xfffffffffffff000\", beyond 2^47",
	  REPLACED("0x10000", "0xfffffffffffff000") },
	{ -EINVAL, ":2: ", "\"start\" is \"0x10008\", not page-aligned",
	  REPLACED("0x10000", "0x10008") },
	{ -EINVAL, ":2: ", "\"end\" is \"0x14800\", not page-aligned",
	  REPLACED("0x14000", "0x14800") },
	{ -EINVAL, ":2: ", "0x10000-0x10000 ends before it begins or is empty",
	  REPLACED("0x14000", "0x10000") },
	{ -EINVAL, ":2: ", "0x10000-0x9000 ends before",
	  REPLACED("0x14000", "0x9000") },
	{ -EINVAL, ":2: ", "\"perms\" is \"rw-\", not like",
	  REPLACED("rw-p", "rw-") },
	{ -EINVAL, ":2: ", "\"perms\" is \"rwzp\", not like",
	  REPLACED("rw-p", "rwzp") },
	{ -EINVAL, ":2: ", "\"perms\" is null, not like",
	  REPLACED("\"rw-p\"", "null") },
	{ -EINVAL, ":2: ", "\"file\" is \"no\", not true or false",
	  REPLACED("false,\"name", "\"no\",\"name") },
	{ -EINVAL, ":2: ", "\"name\" is {}, not a string",
	  REPLACED("\"name\":\"\"", "\"name\":{}") },
	{ -EINVAL, ":2: ", "longer than 63 bytes",
	  REPLACED("\"name\":\"\"", "\"name\":\"0123456789012345678901234567890"
		   "123456789012345678901234567890123\"") },
	{ -EINVAL, ":2: ", "\"runs\" is {}, not an array",
	  HEADER VMA("0x10000", "0x14000", "{}"), NULL, NULL },
	{ -EINVAL, ":2: ", "runs cover 0 of the 4 pages", ONE_RUN(""), NULL,
	  NULL },
	{ -EINVAL, ":2: ", "runs cover 3 of the 4 pages", ONE_RUN("[3,0,1]"),
	  NULL, NULL },
	{ -EINVAL, ":2: ", "more than the 4 pages of the VMA, from run [5,0,1]",
	  ONE_RUN("[5,0,1]"), NULL, NULL },
	{ -EINVAL, ":2: ", "more than the 4 pages", ONE_RUN("[4,0,1],[1,0,1]"),
	  NULL, NULL },
	{ -EINVAL, ":2: ", "from run [9223372036854775807,0,1]",
	  ONE_RUN("[4,0,1],[9223372036854775807,0,1]"), NULL, NULL },
	{ -EINVAL, ":2: ", "not JSON", ONE_RUN("[99999999999999999999,0,1]"),
	  NULL, NULL },
	{ -EINVAL, ":2: ", "run [0,0,1] has no pages",
	  ONE_RUN("[4,0,1],[0,0,1]"), NULL, NULL },
	{ -EINVAL, ":2: ", "run [-4,0,1] has no pages", ONE_RUN("[-4,0,1]"),
	  NULL, NULL },
	{ -EINVAL, ":2: ", "order 11, not 0 to 10", ONE_RUN("[4,11,1]"), NULL,
	  NULL },
	{ -EINVAL, ":2: ", "order -1, not 0 to 10", ONE_RUN("[4,-1,1]"), NULL,
	  NULL },
	{ -EINVAL, ":2: ", "order 4294967296, not 0 to 10",
	  ONE_RUN("[4,4294967296,1]"), NULL, NULL },
	{ -EINVAL, ":2: ", "run [4,null,1]: order null, yet \"orders_known\"",
	  ONE_RUN("[4,null,1]"), NULL, NULL },
	{ -EINVAL, ":2: ", "run [4,0,0]: an order, yet not resident",
	  ONE_RUN("[4,0,0]"), NULL, NULL },
	{ -EINVAL, ":2: ", "run [4,0,2]: resident is 2", ONE_RUN("[4,0,2]"),
	  NULL, NULL },
	{ -EINVAL, ":2: ", "run [4,0,true] is not [pages",
	  ONE_RUN("[4,0,true]"), NULL, NULL },
	{ -EINVAL, ":2: ", "run [4,0] is not [pages", ONE_RUN("[4,0]"), NULL,
	  NULL },
	{ -EINVAL, ":2: ", "run [4,0,1,1] is not [pages", ONE_RUN("[4,0,1,1]"),
	  NULL, NULL },
	{ -EINVAL, ":2: ", "run \"4\" is not [pages", ONE_RUN("\"4\""), NULL,
	  NULL },
	{ -EINVAL, ":2: ", "run [4.5,0,1] is not [pages", ONE_RUN("[4.5,0,1]"),
	  NULL, NULL },
	{ -EINVAL, ":3: ", "0x13000-0x15000 overlaps 0x10000-0x14000",
	  HEADER2 VMA("0x10000", "0x14000", "[[4,0,1]]")
	  VMA("0x13000", "0x15000", "[[2,0,1]]"), NULL, NULL },
	{ -EINVAL, ":3: ", "0x8000-0x9000 is unsorted: it lies below 0x10000",
	  HEADER2 VMA("0x10000", "0x14000", "[[4,0,1]]")
	  VMA("0x8000", "0x9000", "[[1,0,1]]"), NULL, NULL },
	{ -E2BIG, ":2: ", "67108865 resident pages, at most 67108864",
	  HEADER VMA("0x0", "0x4000001000", "[[67108865,0,1]]"), NULL, NULL },
	{ -E2BIG, ":3: ", "67108865 resident pages, at most 67108864",
	  HEADER2 VMA("0x0", "0x4000000000", "[[67108864,null,1]]")
	  VMA("0x4000000000", "0x4000001000", "[[1,0,1]]"), NULL, NULL },
};

static void test_bad_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad_files); i++) {
		const struct bad_file *bad = &bad_files[i];
		const char *at;
		char text[1024];

		snprintf(text, sizeof(text), "%s", bad->text ? bad->text : "");
		if (bad->from) {
			at = strstr(good, bad->from);
			assert_non_null(at);
			snprintf(text, sizeof(text), "%.*s%s%s",
				 (int)(at - good), good, bad->to,
				 at + strlen(bad->from));
		}
		write_text(text, strlen(text));
		assert_refused(bad->err, bad->where, bad->what);
	}
}

/* Whatever single bytes change, the reader says why or reads a layout. */
static void test_mutations(void **state)
{
	static const char signs[] = "0123456789[]{},\"x-";
	struct random r;

	(void)state;
	random_init(&r);
	for (int i = 0; i < 1500; i++) {
		struct layout_error why = { "" };
		struct layout *l = NULL;
		char text[sizeof(good)];

		memcpy(text, good, sizeof(good));
		for (u64 n = 1 + random_below(&r, 3); n; n--)
			text[random_below(&r, sizeof(good) - 1)] =
				random_below(&r, 3) ?
				signs[random_below(&r, sizeof(signs) - 1)] :
				(char)random_next(&r);
		write_text(text, sizeof(good) - 1);
		if (!layout_read(path, &l, &why))
			layout_free(l);
		else
			assert_int_equal(strncmp(why.text, path, strlen(path)),
					 0);
		assert_null(strchr(why.text, '\n'));
	}
}

/* The sample, found from the root of the source tree. */
static void test_example(void **state)
{
	struct layout_error why;
	struct layout *l;

	(void)state;
	if (layout_read("examples/shell.layout", &l, &why))
		fail_msg("%s", why.text);
	assert_true(l->orders_known);
	assert_true(layout_resident_pages(l) > 0);
	layout_free(l);
}

/* Files that are no text at all, and what is no file. */
static void test_other_files(void **state)
{
	static const char elf[] = "\177ELF\2\1\1\0\0\0\0\0";
	struct layout_error why;
	struct layout *l;

	(void)state;
	write_text(elf, sizeof(elf));
	assert_refused(-EINVAL, ":1: ", "not a pinfold layout: a NUL byte");
	write_text("", 0);
	assert_refused(-EINVAL, ":1: ", "the file is empty");
	assert_int_equal(unlink(path), 0);
	assert_refused(-ENOENT, ": ", "No such file");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_refused(-EISDIR, ":1: ", "Is a directory");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(layout_read("/dev/zero", &l, &why), -EINVAL);
}

static void test_line_cap(void **state)
{
	FILE *f = fopen(path, "w");

	(void)state;
	assert_non_null(f);
	fputs(HEADER, f);
	for (size_t i = 0; i <= LAYOUT_MAX_LINE_BYTES; i++)
		putc(' ', f);
	assert_int_equal(fclose(f), 0);
	assert_refused(-E2BIG, ":2: ", "line longer than 4194304 bytes");
}

/* @nr_vmas VMAs of @nr_runs runs each, a page each. */
static void write_many_runs(u64 nr_vmas, u64 nr_runs)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "{\"pinfold_layout\":1,\"source\":\"\",\"page_size\":4096,"
		"\"orders_known\":true,\"nr_vmas\":%" PRIu64 "}\n", nr_vmas);
	for (u64 i = 0; i < nr_vmas; i++) {
		u64 start = i * nr_runs * LAYOUT_PAGE_BYTES;

		fprintf(f, "{\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64
			"\",\"perms\":\"rw-p\",\"file\":false,\"name\":\"\","
			"\"runs\":[", start,
			start + nr_runs * LAYOUT_PAGE_BYTES);
		for (u64 j = 0; j < nr_runs; j++)
			fputs(j ? ",[1,0,1]" : "[1,0,1]", f);
		fputs("]}\n", f);
	}
	assert_int_equal(fclose(f), 0);
}

static void test_run_caps(void **state)
{
	struct layout_error why;
	struct layout *l;

	(void)state;
	write_many_runs(1, LAYOUT_MAX_VMA_RUNS + 1);
	assert_refused(-E2BIG, ":2: ", "65537 runs in one VMA");
	write_many_runs(LAYOUT_MAX_RUNS / LAYOUT_MAX_VMA_RUNS + 1,
			LAYOUT_MAX_VMA_RUNS);
	assert_refused(-E2BIG, ":10: ", "run 524289, at most 524288");
	write_many_runs(1, LAYOUT_MAX_VMA_RUNS);
	assert_int_equal(layout_read(path, &l, &why), 0);
	assert_int_equal(layout_resident_pages(l), LAYOUT_MAX_VMA_RUNS);
	layout_free(l);
}

static void test_full_device(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct layout_error why;
	struct layout *l;

	(void)state;
	assert_non_null(f);
	setvbuf(f, NULL, _IONBF, 0);
	write_text(good, sizeof(good) - 1);
	assert_int_equal(layout_read(path, &l, &why), 0);
	assert_int_equal(layout_write(l, f), -ENOSPC);
	fclose(f);
	layout_free(l);
}

static void test_drop_names(void **state)
{
	struct layout_vma vmas[4] = {
		{ .name = "secret.so" }, { .name = "[anon:secret]" },
		{ .name = "[heap]" }, { .name = "[vvar_vclock]" },
	};
	struct layout l = { .source = "secret", .nr_vmas = 4, .vmas = vmas };

	(void)state;
	layout_drop_names(&l);
	assert_string_equal(l.source, "process");
	assert_string_equal(vmas[0].name, "");
	assert_string_equal(vmas[1].name, "");
	assert_string_equal(vmas[2].name, "[heap]");
	assert_string_equal(vmas[3].name, "[vvar_vclock]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_line_cap),
		cmocka_unit_test(test_run_caps),
		cmocka_unit_test(test_full_device),
		cmocka_unit_test(test_drop_names),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
