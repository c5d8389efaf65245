/* SPDX-License-Identifier: MIT */
/*
 * Events of the rows, from the counting build of the same sources.
 *
 * It runs as a program of its own (libexec/count) with the same arguments and
 * answers in JSON lines, so that no counting is in a timed loop.
 */
#include "bench/bench.h"

#include "host/process.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS	64

static const char *string_at(const json_t *j, const char *key)
{
	const char *string = json_string_value(json_object_get(j, key));

	return string ? string : "";
}

static bool is_row(const struct bench_row *row, const json_t *j)
{
	if (row->part && !row->populate)
		return false;
	return !strcmp(row->algo, string_at(j, "algo")) &&
	       !strcmp(row->shape, string_at(j, "shape")) &&
	       !strcmp(row->part ? row->part : "", string_at(j, "part")) &&
	       !strcmp(bench_frames_name(row->frames), string_at(j, "frames")) &&
	       (long long)row->pages_per_call ==
	       json_integer_value(json_object_get(j, "pages_per_call"));
}

static struct bench_row *find_row(struct bench_result *result, const json_t *j)
{
	for (unsigned int i = 0; i < result->nr_rows; i++)
		if (is_row(&result->rows[i], j))
			return &result->rows[i];
	return NULL;
}

static void take_events(double *events, const json_t *object)
{
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		events[i] = json_number_value(json_object_get(object,
							      event_names[i]));
}

static void take_row(struct bench_result *result, const json_t *j)
{
	struct bench_row *row = find_row(result, j);
	const json_t *events = json_object_get(j, "events");

	if (!row || !events)
		return;
	row->has_events = true;
	take_events(row->get_events, json_object_get(events, "get"));
	take_events(row->put_events, json_object_get(events, "put"));
}

static void take_rows(struct bench_result *result, FILE *in)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, in) > 0) {
		json_t *j = json_loads(line, 0, NULL);

		if (j)
			take_row(result, j);
		json_decref(j);
	}
	free(line);
}

int bench_add_events(char *const argv[], struct bench_result *result)
{
	char path[4096], *args[MAX_ARGS];
	struct process *process;
	unsigned int nr = 0;
	FILE *in;
	int err = helper_path("count", path, sizeof(path));

	if (err)
		return err;
	args[nr++] = "count";
	args[nr++] = "bench";
	for (unsigned int i = 0; argv[i]; i++) {
		if (nr + 3 > MAX_ARGS)
			return -E2BIG;
		args[nr++] = argv[i];
	}
	args[nr++] = "--counting";
	args[nr] = NULL;
	err = process_start(path, args, &process, &in);
	if (err)
		return err;
	take_rows(result, in);
	/* 1: some rows failed, there as here; they say so themselves. */
	return process_finish(process, in) > 1 ? -EIO : 0;
}
