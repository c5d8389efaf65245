/* SPDX-License-Identifier: MIT */
/*
 * gup_test at work: a machine that holds the buffer, the buffer, the threads.
 *
 * The machine is as a kernel usually is: huge pages where they were asked for.
 */
#include "cli/gup_test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "host/clock.h"
#include "host/errtext.h"
#include "mm/gup.h"
#include "mm/shmem.h"
#include "pinfold/pinfold.h"

#define SLACK_BYTES		((u64)16 << 20)
#define GRANULE			((u64)PAGE_SIZE << MAX_PAGE_ORDER)
/* Past this a machine keeps no bytes: nothing here reads them. */
#define METADATA_ONLY_BYTES	((u64)2 << 30)

struct bed {
	const struct gup_test_call *call;
	struct tap *tap;
	struct machine *machine;
	struct mm_struct *mm;
	pf_addr_t buffer;
	u64 bytes;
};

struct lane {
	struct bed *bed;
	struct backend_thread *thread;
};

/* ---- one thread's job ---------------------------------------------------- */

static void print_times(const struct bed *bed, const struct gup_test *record)
{
	tap_lock();
	tap_print("%s: Time: get:%" PRIu64 " put:%" PRIu64 " us",
		  bed->call->command->name, record->get_delta_usec,
		  record->put_delta_usec);
	if (record->size != bed->bytes)
		tap_print(", truncated (size: %" PRIu64 ")", record->size);
	tap_print("\n");
	tap_unlock();
}

static void print_done(const struct bed *bed, const struct gup_test *record)
{
	tap_lock();
	tap_print("%s: done\n", bed->call->command->name);
	if (record->size != bed->bytes)
		tap_print("Truncated (size: %" PRIu64 ")\n", record->size);
	tap_unlock();
}

static void run_job(void *arg)
{
	struct bed *bed = ((struct lane *)arg)->bed;
	const struct gup_test_command *command = bed->call->command;
	u64 repeats = command->timed ? bed->call->repeats : 1;
	struct gup_test record = bed->call->record;
	int err = 0;

	record.addr = bed->buffer;
	while (repeats-- && !err) {
		record.size = bed->bytes;
		err = gup_test_request(bed->mm, command->request, &record);
		if (err)
			break;
		if (command->timed)
			print_times(bed, &record);
		else
			print_done(bed, &record);
	}
	/* What ioctl() would return, which is no errno. */
	tap_result(bed->tap, !err, "ioctl status %d", err ? -1 : 0);
}

static int run_jobs(struct bed *bed)
{
	const u64 wanted = bed->call->threads;
	struct lane *lanes = calloc(wanted + 1, sizeof(*lanes));
	u64 nr = 0;
	int err = lanes ? 0 : -ENOMEM;

	for (; nr < wanted && !err; nr += !err) {
		lanes[nr].bed = bed;
		err = backend_thread_create(&lanes[nr].thread, run_job,
					    &lanes[nr]);
	}
	for (u64 i = 0; i < nr; i++)
		backend_thread_join(lanes[i].thread);
	free(lanes);
	if (err)
		return tap_bail_out(bed->tap, "cannot start thread %" PRIu64
				    ": %s", nr + 1, strerror(-err));
	tap_totals(bed->tap);
	return EXIT_OK;
}

/* ---- machine and buffer -------------------------------------------------- */

/* /dev/zero: memory of nobody's, or of everybody's who shares it. */
static bool maps_zeroes(const struct gup_test_call *call)
{
	return call->hugetlb || !strcmp(call->file, "/dev/zero");
}

/* Descriptors; the entries that map them; an array for each thread. */
static u64 metadata_bytes(const struct bed *bed, u64 frames)
{
	return frames * (sizeof(struct page) + 9 + 8 * bed->call->threads) +
	       ((u64)64 << 20);
}

static int make_machine(struct bed *bed)
{
	const struct gup_test_call *call = bed->call;
	const u64 huge = ALIGN(bed->bytes, PMD_SIZE) >> PMD_SHIFT;
	const u64 pool = !call->hugetlb ? 0 : min(call->pool, huge);
	/* A private area may have a copy of each page of the file. */
	const u64 small = call->hugetlb ? 0 : bed->bytes <<
			  (!maps_zeroes(call) && !call->shared);
	/* One page table for each 2 MiB, used or deposited. */
	u64 memory = ALIGN(small + huge * PAGE_SIZE + SLACK_BYTES, GRANULE);
	u64 kept = memory + pool * PMD_SIZE, have = host_available_bytes();
	u64 need = metadata_bytes(bed, kept >> PAGE_SHIFT);
	bool metadata_only = bed->bytes > METADATA_ONLY_BYTES ||
			     (have && need + kept > have);
	int err;

	if (have && need > have)
		return tap_bail_out(bed->tap, "-m %" PRIu64 " needs %" PRIu64
				    " MiB of the host, which has %" PRIu64
				    " MiB to give", call->mib, need >> 20,
				    have >> 20);
	err = machine_create(&(struct machine_options){
		.memory_bytes = memory,
		.metadata_only = metadata_only,
		.touch = true,
		.thp_madvise = BIT(HPAGE_PMD_ORDER),
		.hugetlb_pages = { [HSTATE_2M] = pool },
	}, &bed->machine);
	if (!err)
		err = mm_create(bed->machine, &bed->mm);
	return err ? tap_bail_out(bed->tap, "%s", error_text()) : 0;
}

static int open_host_file(struct bed *bed, struct file **file)
{
	const char *name = bed->call->file;
	int err, fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0664);

	if (fd < 0)
		return tap_bail_out(bed->tap, "open %s: %s", name,
				    strerror(errno));
	err = host_file_create(bed->machine, fd, true, file);
	close(fd);
	return err ? tap_bail_out(bed->tap, "-f %s: %s", name,
				  error_text()) : 0;
}

/* What the buffer maps; NULL: nothing but memory. */
static int open_file(struct bed *bed, struct file **file)
{
	const struct gup_test_call *call = bed->call;
	const unsigned int order = call->advice == MADV_HUGEPAGE ?
				   HPAGE_PMD_ORDER : 0;

	*file = NULL;
	if (!maps_zeroes(call))
		return open_host_file(bed, file);
	/* Shared huge pages are mapped without a file, as the tool does. */
	if (!call->shared || call->hugetlb)
		return 0;
	return shmem_file_setup(bed->machine, bed->bytes, order, 0, file) ?
	       tap_bail_out(bed->tap, "-S: %s", error_text()) : 0;
}

static int map_buffer(struct bed *bed)
{
	const struct gup_test_call *call = bed->call;
	struct mmap_request req = {
		.length = bed->bytes,
		.read = true,
		.write = true,
		.shared = call->shared,
		.hugetlb = call->hugetlb ?
			   &bed->machine->hstates[HSTATE_2M] : NULL,
	};
	int err = open_file(bed, &req.file);

	if (err)
		return err;
	err = do_mmap(bed->mm, &req, &bed->buffer);
	if (req.file)
		fput(req.file);
	return err ? tap_bail_out(bed->tap, "mmap: %s", strerror(-err)) : 0;
}

static int make_buffer(struct bed *bed)
{
	const struct gup_test_call *call = bed->call;
	int err = map_buffer(bed);

	if (err)
		return err;
	/* On hugetlb memory it fails, and nobody minds. */
	if (call->advice != MADV_NORMAL)
		(void)!do_madvise(bed->mm, bed->buffer, bed->bytes,
				  call->advice);
	if (!call->fault_first)
		return 0;
	/* A user's store of 0 to each page: fresh pages have that byte. */
	current->mm = bed->mm;
	err = fault_in_safe_writeable(bed->buffer, bed->bytes) ? -EFAULT : 0;
	current->mm = NULL;
	return err ? tap_bail_out(bed->tap, "the buffer cannot be written: %s",
				  error_text()) : 0;
}

static int run_in_machine(struct bed *bed)
{
	struct machine *previous = machine_enter(bed->machine);
	int err = make_buffer(bed);

	machine_leave(previous);
	return err ? err : run_jobs(bed);
}

/* Every page that was got has to be back. */
static int free_bed(struct bed *bed, int code)
{
	if (bed->mm)
		mm_destroy(bed->mm);
	if (pf_machine_destroy((struct pf_machine *)bed->machine))
		return failed("gup_test", "%s", error_text());
	return code;
}

int gup_test_run(const struct gup_test_call *call, struct tap *tap)
{
	struct bed bed = {
		.call = call,
		.tap = tap,
		.bytes = call->mib << 20,
	};
	int err;

	tap_begin(tap, call->threads);
	err = make_machine(&bed);
	if (!err)
		err = run_in_machine(&bed);
	return free_bed(&bed, err);
}
