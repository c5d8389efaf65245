/* SPDX-License-Identifier: MIT */
/*
 * `pinfold restore`: the machine, the threads, the comparison, the figures.
 *
 * Threads take the next piece of what is left, so that a slow one holds up
 * nobody; pieces begin at multiples of the largest folio.
 */
#include "cli/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/arena.h"
#include "host/atomic.h"
#include "host/backend.h"
#include "host/clock.h"

#define PIECE		((u64)32 << 20)
#define COMPARE		((size_t)1 << 20)
#define MEMCPY_MIN	((u64)16 << 20)
#define MEMCPY_MAX	((u64)256 << 20)
#define MEMCPY_TIMES	5
#define GIB		((double)(1 << 30))

/* ---- pieces ---------------------------------------------------------- */

struct piece {
	u64 file_offset, guest_offset, bytes;
};

struct job {
	struct restore *r;
	struct pf_guest_memfd *gmem;
	/* Does one piece.  Return: 0, or a negative errno and @at. */
	int (*work)(struct job *job, const struct piece *p, u64 *at);
	int out;			/* file to save to */
	u32 next;			/* (A) piece */
	u32 nr_pieces;
	struct piece *pieces;
	u32 done_mib;			/* (A) */
	const char *verb;
	int err;			/* the first failure; under no lock: */
	u32 failed;			/* (A) who sets it from 0 may write err */
	u64 err_at;
	char err_text[256];
};

/* Cut where the guest's largest folios begin. */
static int cut_pieces(struct job *job)
{
	const struct plan *plan = &job->r->plan;
	u32 nr = 0;

	for (unsigned int i = 0; i < plan->nr_slots; i++)
		nr += (u32)(plan->slots[i].size / PIECE) + 2;
	job->pieces = calloc(nr, sizeof(*job->pieces));
	if (!job->pieces)
		return failed(RESTORE, "no memory");
	for (unsigned int i = 0; i < plan->nr_slots; i++) {
		struct slot left = plan->slots[i];

		while (left.size) {
			u64 bytes = min(left.size,
					PIECE - left.guest_offset % PIECE);

			job->pieces[job->nr_pieces++] = (struct piece){
				left.file_offset, left.guest_offset, bytes };
			left.file_offset += bytes;
			left.guest_offset += bytes;
			left.size -= bytes;
		}
	}
	return EXIT_OK;
}

static void note_failure(struct job *job, int err, u64 at, const char *text)
{
	if (word_or(&job->failed, 1))
		return;
	job->err = err;
	job->err_at = at;
	snprintf(job->err_text, sizeof(job->err_text), "%s", text);
}

/* Return: false if there is none left. */
static bool next_piece(struct job *job)
{
	const u32 i = word_add(&job->next, 1);
	u64 at = 0;
	int err;

	if (i >= job->nr_pieces || READ_ONCE(job->failed))
		return false;
	err = job->work(job, &job->pieces[i], &at);
	if (err)
		note_failure(job, err, at, pf_error_text());
	else
		word_add(&job->done_mib, (u32)(job->pieces[i].bytes >> 20));
	return true;
}

static void lane(void *arg)
{
	while (next_piece(arg))
		;
}

/* All pieces, by that many threads.  Return: 0 or a negative errno. */
static int run_job(struct job *job, unsigned int threads)
{
	struct backend_thread *others[RESTORE_MAX_THREADS];
	unsigned int nr = 0;

	job->next = 0;
	job->done_mib = 0;
	job->failed = 0;
	job->err = 0;
	while (nr + 1 < threads && !job->err) {
		job->err = backend_thread_create(&others[nr], lane, job);
		nr += !job->err;
	}
	if (job->err)
		note_failure(job, job->err, 0, "a thread cannot be started");
	while (next_piece(job))
		progress("%s %" PRIu32 " of %" PRIu64 " MiB", job->verb,
			 READ_ONCE(job->done_mib), job->r->plan.bytes >> 20);
	while (nr)
		backend_thread_join(others[--nr]);
	progress_done();
	return job->err;
}

/* ---- what is done with a piece --------------------------------------- */

static int restore_piece(struct job *job, const struct piece *p, u64 *at)
{
	u64 done = 0;

	while (done < p->bytes) {
		int64_t ret = pf_guest_memfd_restore(job->gmem, job->r->fd,
						     p->file_offset + done,
						     p->guest_offset + done,
						     p->bytes - done);

		*at = p->file_offset + done;
		if (ret <= 0)
			return ret ? (int)ret : -EIO;
		done += (u64)ret;
	}
	return 0;
}

static int save_piece(struct job *job, const struct piece *p, u64 *at)
{
	u64 done = 0;

	while (done < p->bytes) {
		int64_t ret = pf_guest_memfd_save(job->gmem, job->out,
						  p->file_offset + done,
						  p->guest_offset + done,
						  p->bytes - done);

		*at = p->file_offset + done;
		if (ret <= 0)
			return ret ? (int)ret : -EIO;
		done += (u64)ret;
	}
	return 0;
}

/* Return: bytes; short at the end of the file; or a negative errno. */
static ssize_t read_file(int fd, char *to, size_t bytes, u64 offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pread(fd, to + done, bytes - done,
				    (off_t)(offset + done));

		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got)
			break;
		done += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)done;
}

/* Page by page, so that the first one that differs is named. */
static int compare(const char *file, const char *memory, size_t bytes, u64 *at)
{
	for (size_t i = 0; i < bytes; i += PINFOLD_PAGE_SIZE) {
		if (!memcmp(file + i, memory + i, PINFOLD_PAGE_SIZE))
			continue;
		*at += i;
		return -EILSEQ;
	}
	return 0;
}

static int verify_piece(struct job *job, const struct piece *p, u64 *at)
{
	char *file = malloc(2 * COMPARE), *memory = file + COMPARE;
	int err = file ? 0 : -ENOMEM;

	for (u64 done = 0; done < p->bytes && !err; done += COMPARE) {
		const size_t part = min(p->bytes - done, (u64)COMPARE);
		int64_t got;

		*at = p->file_offset + done;
		got = pf_guest_memfd_read(job->gmem, p->guest_offset + done,
					  memory, part);
		if (got == (int64_t)part)
			got = read_file(job->r->fd, file, part, *at);
		if (got < 0)
			err = (int)got;
		else if (got < (int64_t)part)
			err = -ENODATA;
		else
			err = compare(file, memory, part, at);
	}
	free(file);
	return err;
}

/* ---- saving ---------------------------------------------------------- */

/* mkstemp() makes files for the owner alone; ours are as the umask says. */
static void apply_umask(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	(void)!fchmod(fd, 0666 & ~mask);
}

/* Written next to where it goes, and renamed: as a whole or not at all. */
static int save_to(struct job *job, const char *path)
{
	struct restore *r = job->r;
	const size_t room = strlen(path) + sizeof(".tmp.XXXXXX");
	char *tmp = malloc(room);
	struct stat st;
	int err;

	if (!tmp)
		return failed(RESTORE, "no memory");
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		free(tmp);
		return failed(RESTORE, "--save %s: not a regular file", path);
	}
	snprintf(tmp, room, "%s.tmp.XXXXXX", path);
	job->out = mkstemp(tmp);
	err = job->out < 0 ? -errno : 0;
	if (!err) {
		apply_umask(job->out);
		/* The file is as long as the snapshot, between slots too. */
		if (ftruncate(job->out, (off_t)r->file_bytes))
			err = -errno;
		if (!err)
			err = run_job(job, 1);
		if (close(job->out) && !err)
			err = -errno;
		if (!err && rename(tmp, path))
			err = -errno;
		if (err)
			unlink(tmp);
	}
	free(tmp);
	return err ? failed(RESTORE, "--save %s: %s", path, strerror(-err)) :
		     EXIT_OK;
}

/* ---- figures --------------------------------------------------------- */

static double rate(u64 bytes, u64 ns)
{
	return ns ? (double)bytes / GIB / ((double)ns / 1e9) : 0;
}

static int by_value(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median of some; buffers that are there, in huge pages if there are any. */
static double measure_memcpy(u64 bytes)
{
	char *buffers;
	u64 ns[MEMCPY_TIMES];

	bytes = ALIGN(max(MEMCPY_MIN, min(bytes, MEMCPY_MAX)), (u64)2 << 20);
	buffers = host_reserve(2 * bytes, 2 << 20);
	if (!buffers)
		return 0;
	if (host_commit(buffers, 2 * bytes, true, true)) {
		host_release(buffers, 2 * bytes);
		return 0;
	}
	host_touch(buffers, 2 * bytes);
	for (unsigned int i = 0; i < MEMCPY_TIMES; i++) {
		u64 t = clock_ns();

		memcpy(buffers + bytes, buffers, bytes);
		/* The copy is not left out because nobody reads it. */
		READ_ONCE(buffers[2 * bytes - 1]);
		ns[i] = clock_ns() - t;
	}
	host_release(buffers, 2 * bytes);
	qsort(ns, MEMCPY_TIMES, sizeof(*ns), by_value);
	return rate(bytes, ns[MEMCPY_TIMES / 2]);
}

static const char *folio_name(unsigned int order)
{
	return order == 9 ? "2M" : order ? "64K" : "4K";
}

static void print_figures(const struct restore *r, FILE *out)
{
	const struct plan *plan = &r->plan;
	const double gib = rate(plan->data_bytes, r->restore_ns);

	fprintf(out, "%s: %.1f MiB in %u slot%s, %.1f MiB of data\n", r->path,
		(double)plan->bytes / (1 << 20), plan->nr_slots,
		plan->nr_slots == 1 ? "" : "s",
		(double)plan->data_bytes / (1 << 20));
	fprintf(out, "restored in %.1f ms: %.2f GiB/s, %.2fx one memcpy "
		"(%.2f GiB/s), folios up to %s, %u thread%s\n",
		(double)r->restore_ns / 1e6, gib,
		gib > 0 ? r->memcpy_gib / gib : 0, r->memcpy_gib,
		folio_name(r->order), r->threads, r->threads == 1 ? "" : "s");
	if (r->verify)
		fprintf(out, "verified %" PRIu64 " pages in %.1f ms\n",
			plan->bytes / PINFOLD_PAGE_SIZE,
			(double)r->verify_ns / 1e6);
	if (r->save)
		fprintf(out, "saved to %s in %.1f ms\n", r->save,
			(double)r->save_ns / 1e6);
}

static int write_json(const struct restore *r)
{
	const struct plan *plan = &r->plan;
	const double gib = rate(plan->data_bytes, r->restore_ns);
	FILE *out = strcmp(r->json, "-") ? fopen(r->json, "we") : stdout;
	json_t *j;
	int err;

	if (!out)
		return failed(RESTORE, "--json %s: %s", r->json,
			      strerror(errno));
	j = json_pack("{s:i, s:s, s:s, s:I, s:I, s:i, s:i, s:I, s:f, s:f, s:f}",
		      "schema", 1, "suite", "restore", "file", r->path,
		      "bytes", (json_int_t)plan->bytes,
		      "data_bytes", (json_int_t)plan->data_bytes,
		      "slots", (int)plan->nr_slots, "threads", (int)r->threads,
		      "folio_bytes", (json_int_t)4096 << r->order,
		      "restore_ms", (double)r->restore_ns / 1e6,
		      "gib_per_s", gib, "memcpy_gib_per_s", r->memcpy_gib);
	if (gib > 0)
		json_object_set_new(j, "memcpy_ratio",
				    json_real(r->memcpy_gib / gib));
	if (r->verify)
		json_object_set_new(j, "verified_pages",
			json_integer((json_int_t)(plan->bytes /
						  PINFOLD_PAGE_SIZE)));
	err = !j || json_dumpf(j, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(j);
	err |= fputc('\n', out) == EOF;
	if (out != stdout)
		err |= fclose(out) != 0;
	return err ? failed(RESTORE, "--json %s: cannot be written", r->json) :
		     EXIT_OK;
}

/* ---- all of it ------------------------------------------------------- */

static int say_failure(const struct job *job)
{
	if (job->err == -EILSEQ)
		return failed(RESTORE, "%s: the page at byte %" PRIu64
			      " differs in memory", job->r->path, job->err_at);
	return failed(RESTORE, "%s: byte %" PRIu64 ": %s (%s)", job->r->path,
		      job->err_at, strerror(-job->err), job->err_text);
}

static int timed(struct job *job, const char *verb,
		 int (*work)(struct job *, const struct piece *, u64 *),
		 unsigned int threads, u64 *ns)
{
	u64 start = clock_ns();
	int err;

	job->verb = verb;
	job->work = work;
	err = run_job(job, threads);
	*ns = clock_ns() - start;
	return err ? say_failure(job) : EXIT_OK;
}

static int run_on(struct restore *r, struct pf_guest_memfd *gmem)
{
	struct job job = { .r = r, .gmem = gmem };
	int err = cut_pieces(&job);
	u64 start;

	if (!err)
		err = timed(&job, "restored", restore_piece, r->threads,
			    &r->restore_ns);
	if (!err)
		r->memcpy_gib = measure_memcpy(r->plan.data_bytes);
	if (!err && r->verify)
		err = timed(&job, "verified", verify_piece, r->threads,
			    &r->verify_ns);
	if (!err && r->save) {
		start = clock_ns();
		job.verb = "saved";
		job.work = save_piece;
		err = save_to(&job, r->save);
		r->save_ns = clock_ns() - start;
	}
	free(job.pieces);
	return err;
}

/* Memory for the data; and a little, for what large folios leave between. */
static int make_machine(const struct restore *r, struct pf_machine **machine)
{
	const u64 granule = (u64)4 << 20;
	struct pf_machine_options options = {
		.size = sizeof(options),
		.memory_bytes = ALIGN(r->plan.data_bytes, granule) +
				2 * granule,
		.touch = true,
		.nr_cpus = r->threads,
	};
	const u64 available = host_available_bytes();
	/* and the descriptors, 64 bytes a page */
	const u64 needed = options.memory_bytes + options.memory_bytes / 64;

	if (available && needed > available)
		return failed(RESTORE, "%s: %" PRIu64 " MiB of data do not fit "
			      "into %" PRIu64 " MiB of free memory", r->path,
			      r->plan.data_bytes >> 20, available >> 20);
	if (pf_machine_create(&options, machine))
		return failed(RESTORE, "%s: %s", r->path, pf_error_text());
	return EXIT_OK;
}

int restore_run(struct restore *r)
{
	struct pf_guest_memfd *gmem;
	struct pf_machine *machine;
	int err = make_machine(r, &machine);

	if (err)
		return err;
	if (pf_guest_memfd_create(machine, r->plan.guest_bytes, r->order ?
				  PINFOLD_GUEST_MEMFD_FOLIOS(r->order) : 0,
				  &gmem)) {
		err = failed(RESTORE, "%s: %s", r->path, pf_error_text());
	} else {
		err = run_on(r, gmem);
		pf_guest_memfd_destroy(gmem);
	}
	(void)!pf_machine_destroy(machine);
	if (!err)
		print_figures(r, r->json && !strcmp(r->json, "-") ? stderr :
								    stdout);
	return err || !r->json ? err : write_json(r);
}
