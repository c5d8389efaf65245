/* SPDX-License-Identifier: MIT */
/*
 * `pinfold bench`: what pinning costs.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/turns.h"
#include "cli/cli.h"
#include "host/errtext.h"

/* Most memory: what one machine can have, less what page tables take. */
#define MAX_MIB	((u64)255 << 10)

static const struct bench_suite *const suites[] = {
	&bench_walk,
	&bench_longterm,
	&bench_fast,
	&bench_populate,
};

struct call {
	struct bench_options options;
	const struct bench_suite *wanted[ARRAY_SIZE(suites)];
	unsigned int nr_wanted, nr_printed;
	const char *json;		/* file, "-" for stdout, or NULL */
	FILE *json_out;
	const char *layout_file;
	u64 pid;			/* 0: none */
	bool counting;			/* we are the counting helper */
	bool shape_given;		/* -m or --frames: not for a layout */
};

static int help(void)
{
	puts("Usage: pinfold bench [SUITE ...] [OPTION ...]\n"
	     "What getting and putting a page costs, beside what the hardware "
	     "takes.\n\nSuites (default: all):");
	for (size_t i = 0; i < ARRAY_SIZE(suites); i++)
		printf("  %-10s %s\n", suites[i]->name, suites[i]->summary);
	puts("\n"
	     "  -m MIB            memory to pin or to fill (256)\n"
	     "  -n PAGES          pages a call (512; fast: 64; populate: "
	     "several)\n"
	     "  -r REPEATS        turns of each row; figures are medians (11)\n"
	     "  -j THREADS        threads, each with its part of the memory (1)\n"
	     "  --folio LIST      folio sizes, 4K, 16K to 2M, 1G (4K,64K,2M)\n"
	     "  --algo LIST       rows, besides limit (all of the suite)\n"
	     "  --frames WHICH    ordered, shuffled or both (both)\n"
	     "  --movable MIB     that much of ZONE_MOVABLE more (0)\n"
	     "  --cma MIB         that much of a CMA area more (0)\n"
	     "  --pid PID         the memory shape of that process instead\n"
	     "  --layout FILE     the same, from a file of pinfold capture\n"
	     "  --json FILE|-     JSON lines too; -: to stdout, tables to "
	     "stderr\n"
	     "  --seed N          of shuffled frames (1)\n"
	     "  --help");
	return EXIT_OK;
}

/* ---- options ----------------------------------------------------------------- */

/* Calls @add for each part of a comma-separated list. */
static int each_part(const char *list, struct call *call,
		     int (*add)(struct call *call, const char *part))
{
	char *copy = strdup(list), *rest = copy, *part;
	int err = copy ? 0 : failed("bench", "no memory");

	while (!err && (part = strsep(&rest, ",")))
		err = add(call, part);
	free(copy);
	return err;
}

static int add_folio(struct call *call, const char *part)
{
	struct bench_options *o = &call->options;
	u64 bytes;

	if (!parse_size(part, 4096, PUD_SIZE, &bytes) ||
	    (bytes & (bytes - 1)) || bytes == 8192 ||
	    (bytes > PMD_SIZE && bytes < PUD_SIZE))
		return usage_error("bench", "--folio takes 4K, 16K to 2M, powers "
				   "of two, and 1G, not '%s'", part);
	if (o->nr_folios == BENCH_MAX_FOLIOS)
		return usage_error("bench", "more than %d folio sizes",
				   BENCH_MAX_FOLIOS);
	o->folio_orders[o->nr_folios++] = __builtin_ctzll(bytes) - PAGE_SHIFT;
	return 0;
}

/* The name as a suite has it, or NULL. */
static const char *find_algo(const struct bench_suite *suite, const char *name)
{
	for (unsigned int i = 0; i < suite->nr_contestants; i++)
		if (!strcmp(suite->contestants[i].name, name))
			return suite->contestants[i].name;
	return NULL;
}

/* Is there a row of the suite among those asked for? */
static bool has_row(const struct bench_suite *suite,
		    const struct bench_options *o)
{
	for (unsigned int i = 0; i < o->nr_algos; i++)
		if (find_algo(suite, o->algos[i]))
			return true;
	return !o->nr_algos;
}

static int add_algo(struct call *call, const char *part)
{
	struct bench_options *o = &call->options;
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(suites) && !name; i++)
		name = find_algo(suites[i], part);
	if (!name)
		return usage_error("bench", "no algorithm '%s'", part);
	if (o->nr_algos == BENCH_MAX_ALGOS)
		return usage_error("bench", "more than %d algorithms",
				   BENCH_MAX_ALGOS);
	o->algos[o->nr_algos++] = name;
	return 0;
}

static int set_frames(struct call *call, const char *name)
{
	call->shape_given = true;
	if (!strcmp(name, "ordered"))
		call->options.frames = FRAMES_ORDERED;
	else if (!strcmp(name, "shuffled"))
		call->options.frames = FRAMES_SHUFFLED;
	else if (!strcmp(name, "both"))
		call->options.frames = FRAMES_ORDERED | FRAMES_SHUFFLED;
	else
		return usage_error("bench", "--frames takes ordered, shuffled "
				   "or both, not '%s'", name);
	return 0;
}

static int set_number(const char *option, const char *value, u64 lo, u64 hi,
		      u64 *out)
{
	if (!parse_u64(value, lo, hi, out))
		return usage_error("bench", "%s takes %" PRIu64 " to %" PRIu64
				   ", not '%s'", option, lo, hi, value);
	return 0;
}

/* Memory of a kind: what the buddy allocator's largest block divides. */
static int set_mib(const char *option, const char *value, u64 *bytes)
{
	u64 n = 0;
	int err = set_number(option, value, 0, MAX_MIB, &n);

	if (!err && n % 4)
		return usage_error("bench", "%s takes a multiple of 4, not '%s'",
				   option, value);
	*bytes = n << 20;
	return err;
}

enum {
	OPT_FOLIO = 256, OPT_ALGO, OPT_FRAMES, OPT_PID, OPT_LAYOUT, OPT_JSON,
	OPT_SEED, OPT_MOVABLE, OPT_CMA, OPT_COUNTING, OPT_HELP,
};

static const struct option long_options[] = {
	{ "folio", required_argument, NULL, OPT_FOLIO },
	{ "algo", required_argument, NULL, OPT_ALGO },
	{ "frames", required_argument, NULL, OPT_FRAMES },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "layout", required_argument, NULL, OPT_LAYOUT },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "movable", required_argument, NULL, OPT_MOVABLE },
	{ "cma", required_argument, NULL, OPT_CMA },
	{ "counting", no_argument, NULL, OPT_COUNTING },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static int take_option(struct call *call, int c, const char *value)
{
	struct bench_options *o = &call->options;
	u64 n = 0;
	int err;

	switch (c) {
	case 'm':
		err = set_number("-m", value, 2, MAX_MIB, &n);
		if (!err && n % 2)
			return usage_error("bench", "-m takes an even number of "
					   "MiB, not '%s'", value);
		o->bytes = n << 20;
		call->shape_given = true;
		return err;
	case 'n':
		err = set_number("-n", value, 1, (u64)1 << 26, &n);
		o->pages_per_call = n;
		return err;
	case 'r':
		err = set_number("-r", value, 1, BENCH_MAX_REPEATS, &n);
		o->repeats = n;
		return err;
	case 'j':
		err = set_number("-j", value, 1, BENCH_MAX_THREADS, &n);
		o->threads = n;
		return err;
	case OPT_FOLIO:
		return each_part(value, call, add_folio);
	case OPT_ALGO:
		return each_part(value, call, add_algo);
	case OPT_FRAMES:
		return set_frames(call, value);
	case OPT_PID:
		return set_number("--pid", value, 1, INT32_MAX, &call->pid);
	case OPT_LAYOUT:
		call->layout_file = value;
		return 0;
	case OPT_JSON:
		call->json = value;
		return 0;
	case OPT_SEED:
		return set_number("--seed", value, 0, UINT64_MAX, &o->seed);
	case OPT_MOVABLE:
		call->shape_given = true;
		return set_mib("--movable", value, &o->movable_bytes);
	case OPT_CMA:
		call->shape_given = true;
		return set_mib("--cma", value, &o->cma_bytes);
	case OPT_COUNTING:
		call->counting = true;
		return 0;
	default:
		return 0;
	}
}

static int add_suite(struct call *call, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(suites); i++) {
		if (strcmp(name, suites[i]->name))
			continue;
		for (unsigned int k = 0; k < call->nr_wanted; k++)
			if (call->wanted[k] == suites[i])
				return 0;
		call->wanted[call->nr_wanted++] = suites[i];
		return 0;
	}
	return usage_error("bench", "no suite '%s', see pinfold bench --help",
			   name);
}

/* Without a name: all suites that have something to show. */
static int choose_suites(struct call *call)
{
	const bool layout = call->pid || call->layout_file;

	if (!call->nr_wanted)
		for (size_t i = 0; i < ARRAY_SIZE(suites); i++)
			if (has_row(suites[i], &call->options) &&
			    !(layout && suites[i]->no_layout))
				call->wanted[call->nr_wanted++] = suites[i];
	for (unsigned int i = 0; i < call->nr_wanted; i++) {
		if (!has_row(call->wanted[i], &call->options))
			return usage_error("bench", "suite %s has none of the "
					   "algorithms of --algo",
					   call->wanted[i]->name);
		if (layout && call->wanted[i]->no_layout)
			return usage_error("bench", "suite %s takes no --pid or "
					   "--layout", call->wanted[i]->name);
	}
	return EXIT_OK;
}

/* Return: EXIT_OK to go on, an exit code, or -1 after --help. */
static int parse(struct call *call, int argc, char **argv)
{
	int c, err;

	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, ":m:n:r:j:h", long_options, NULL)) !=
	       -1) {
		if (c == ':' || c == '?')
			return bad_option("bench", c, argv);
		if (c == 'h' || c == OPT_HELP) {
			help();
			return -1;
		}
		err = take_option(call, c, optarg);
		if (err)
			return err;
	}
	for (; optind < argc; optind++) {
		err = add_suite(call, argv[optind]);
		if (err)
			return err;
	}
	err = choose_suites(call);
	if (err)
		return err;
	if (call->pid && call->layout_file)
		return usage_error("bench", "--pid and --layout exclude each "
				   "other");
	if ((call->pid || call->layout_file) && call->shape_given)
		return usage_error("bench", "-m, --frames, --movable and --cma "
				   "do not go with --pid or --layout");
	return EXIT_OK;
}

/* ---- running ----------------------------------------------------------------- */

static int load_layout(struct call *call, struct layout **layout)
{
	struct layout_error why;
	int err = 0;

	if (call->layout_file)
		err = layout_read(call->layout_file, layout, &why);
	else if (call->pid)
		err = layout_capture(call->pid, layout, &why);
	if (err)
		return failed("bench", "%s", why.text);
	call->options.layout = *layout;
	if (*layout)
		call->options.bytes = layout_resident_pages(*layout) *
				      LAYOUT_PAGE_BYTES;
	return 0;
}

/* Descriptors, slots, page tables, and the bytes themselves if they are kept. */
static u64 host_bytes_needed(const struct call *call)
{
	u64 bytes = call->options.bytes;
	u64 metadata = bytes / PAGE_SIZE * (sizeof(struct page) + 8 + 9);
	bool kept = !call->options.layout && bytes <= (u64)2 << 30;

	bytes += call->options.movable_bytes + call->options.cma_bytes;
	return metadata + ((u64)64 << 20) + (kept ? bytes : 0);
}

static int check_memory(const struct call *call)
{
	u64 need = host_bytes_needed(call), have = host_available_bytes();

	if (have && need > have)
		return failed("bench", "%" PRIu64 " MiB need %" PRIu64
			      " MiB of the host, which has %" PRIu64
			      " MiB to give", call->options.bytes >> 20,
			      need >> 20, have >> 20);
	return 0;
}

/* The arguments without --pid, as the helper is to have them. */
static int copy_args(char **argv, char **args, int room)
{
	int nr = 0;

	for (int i = 1; argv[i]; i++) {
		if (!strncmp(argv[i], "--pid", 5)) {
			i += !strchr(argv[i], '=') && argv[i + 1];
			continue;
		}
		if (nr == room)
			return -E2BIG;
		args[nr++] = argv[i];
	}
	return nr;
}

static int write_layout(const struct layout *layout, int fd)
{
	FILE *file = fdopen(fd, "w");
	int err;

	if (!file) {
		close(fd);
		return -EIO;
	}
	err = layout_write(layout, file);
	if (fclose(file) && !err)
		err = -EIO;
	return err;
}

/* The helper captures nothing: it gets what we measured, as a file. */
static int add_events(struct call *call, char **argv,
		      struct bench_result *result)
{
	char path[] = "/tmp/pinfold-XXXXXX", *args[48] = { NULL };
	int nr = copy_args(argv, args, ARRAY_SIZE(args) - 3);
	int err, fd;

	if (nr < 0)
		return nr;
	if (!call->pid)
		return bench_add_events(args, result);
	fd = mkstemp(path);
	if (fd < 0)
		return -errno;
	args[nr++] = "--layout";
	args[nr++] = path;
	err = write_layout(call->options.layout, fd);
	if (!err)
		err = bench_add_events(args, result);
	remove(path);
	return err;
}

/* Before anything runs, so that nobody waits for rows that cannot be kept. */
static int open_json(struct call *call)
{
	if (call->counting || (call->json && !strcmp(call->json, "-")))
		call->json_out = stdout;
	else if (call->json)
		call->json_out = fopen(call->json, "we");
	if (call->json && !call->json_out)
		return failed("bench", "cannot write %s: %s", call->json,
			      strerror(errno));
	return 0;
}

static int close_json(struct call *call, int status)
{
	if (!call->json_out || call->json_out == stdout)
		return status;
	if (fclose(call->json_out))
		return failed("bench", "cannot write %s: %s", call->json,
			      strerror(errno));
	return status;
}

static int any_failed(const struct bench_result *result)
{
	for (unsigned int i = 0; i < result->nr_rows; i++)
		if (result->rows[i].status == BENCH_FAILED)
			return EXIT_FAILED;
	return EXIT_OK;
}

/* Tables of several suites stand apart. */
static bool result_heading(struct call *call)
{
	return !call->counting && call->nr_printed++ > 0;
}

static int run_suite(struct call *call, const struct bench_suite *suite,
		     char **argv)
{
	struct bench_result *result = calloc(1, sizeof(*result));
	struct bench_options options = call->options;
	FILE *tables = call->json && !strcmp(call->json, "-") ? stderr : stdout;
	int err;

	if (!result)
		return failed("bench", "no memory");
	if (result_heading(call))
		fputc('\n', tables);
	if (!options.pages_per_call)
		options.pages_per_call = suite->pages_per_call;
	err = suite->run(&options, result);
	progress_done();
	if (err) {
		free(result);
		return failed("bench", "%s", error_text());
	}
	if (!call->counting) {
		progress("%s: counting events", suite->name);
		err = add_events(call, argv, result);
		progress_done();
		if (err)
			fprintf(stderr, "pinfold bench: no events: the counting "
				"build did not answer: %s\n", strerror(-err));
		report_tables(suite, &options, result, tables);
	}
	err = call->json_out ? report_json(result, call->json_out) : 0;
	err = err ? failed("bench", "cannot write the rows") :
		    any_failed(result);
	free(result);
	return err;
}

static int run(int argc, char **argv)
{
	struct call call = {
		.options = {
			.bytes = (u64)256 << 20,
			.repeats = 11,
			.threads = 1,
			.frames = FRAMES_ORDERED | FRAMES_SHUFFLED,
			.seed = 1,
			.progress = progress,
		},
	};
	struct layout *layout = NULL;
	int err = parse(&call, argc, argv);

	if (err)
		return err < 0 ? EXIT_OK : err;
	err = load_layout(&call, &layout);
	if (!err)
		err = check_memory(&call);
	if (!err)
		err = open_json(&call);
	for (unsigned int i = 0; i < call.nr_wanted && !err; i++)
		err = run_suite(&call, call.wanted[i], argv);
	layout_free(layout);
	return close_json(&call, err);
}

const struct subcommand cmd_bench = {
	"bench", "what pinning costs a page, beside the hardware's limit", run,
};
