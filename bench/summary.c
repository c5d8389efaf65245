/* SPDX-License-Identifier: MIT */
#include "bench/bench.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct bench_figure bench_summary(double *samples, unsigned int nr)
{
	qsort(samples, nr, sizeof(*samples), compare);
	return (struct bench_figure){
		.median = (samples[(nr - 1) / 2] + samples[nr / 2]) / 2,
		.min = samples[0],
		.max = samples[nr - 1],
	};
}

double bench_gib_per_s(const struct bench_row *row)
{
	const double bytes_per_ns = (double)PAGE_SIZE / row->get_ns.median;

	return bytes_per_ns * 1e9 / (double)((u64)1 << 30);
}

const char *bench_frames_name(unsigned int frames)
{
	switch (frames) {
	case FRAMES_ORDERED:
		return "ordered";
	case FRAMES_SHUFFLED:
		return "shuffled";
	default:
		return "captured";
	}
}
