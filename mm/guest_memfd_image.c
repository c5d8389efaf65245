/* SPDX-License-Identifier: MIT */
/*
 * guest_memfd: restoring from a file, saving to one.
 *
 * Locks: as in mm/guest_memfd_populate.c for data; for holes, and to save, the
 * folio lock alone: what is absent stays so.
 * Source: the design is its own.
 */
#include "mm/guest_memfd.h"

#include "host/errtext.h"
#include "host/image.h"
#include "mm/guest_memfd_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int check_image(const struct guest_memfd *gmem, u64 file_offset,
		       u64 offset, u64 len)
{
	int err = gmem_check_bytes(gmem, offset, len, PAGE_SIZE);

	if (err)
		return err;
	if (!IS_ALIGNED(file_offset, PAGE_SIZE) ||
	    file_offset > INT64_MAX - len)
		return fail(-EINVAL, "%" PRIu64 " bytes at %" PRIu64 " of the "
			    "file", len, file_offset, 0);
	return 0;
}

static int fail_file(int err, u64 offset)
{
	return fail(err, err == -ENODATA ? "the file ends before byte %" PRIu64 :
		    "the file cannot be used at byte %" PRIu64, offset, 0, 0);
}

/* ---- restore --------------------------------------------------------- */

struct image_fill {
	struct gmem_fill fill;
	struct image image;
	u64 shift;			/* of the file's offsets against ours */
};

/*
 * Through the window, which stays in the caches: so what is written to memory is
 * streamed, and a folio of the guest's is not left half-read by an error.
 */
static int fill_from_image(struct image_fill *f, pgoff_t start, pgoff_t end)
{
	int err = 0, read_err = 0;

	while (start < end && !err && !read_err) {
		const u64 from = ((u64)start << PAGE_SHIFT) + f->shift;
		pgoff_t next = gmem_fill_window(&f->fill, start);
		struct iovec iov;
		u64 done;

		if (!next)
			return -ENOMEM;
		next = min(next, end);
		iov.iov_base = f->fill.window;
		iov.iov_len = (next - start) << PAGE_SHIFT;
		read_err = image_read(&f->image, &iov, 1, from, &done);
		if (read_err)
			next = start + (done >> PAGE_SHIFT);
		f->fill.window_start = start;
		f->fill.window_end = next;
		err = gmem_fill_range(&f->fill, start, next);
		if (!err && read_err)
			return fail_file(read_err, from + done);
		start = next;
	}
	return err;
}

/* Pages [@start, @end) that are prepared become zero; none is added. */
static void zero_prepared(struct guest_memfd *gmem, pgoff_t start, pgoff_t end)
{
	struct folio_batch fbatch;
	pgoff_t next = start;

	folio_batch_init(&fbatch);
	while (next < end && filemap_get_folios(&gmem->mapping, &next, end - 1,
						&fbatch)) {
		for (unsigned int i = 0; i < fbatch.nr; i++) {
			struct folio *folio = fbatch.folios[i];
			pgoff_t first, last;

			if (!gmem_lock_prepared(gmem, folio))
				continue;
			first = max(start, folio->index);
			last = min(end, folio_next_index(folio));
			memset(page_address(folio_page(folio, first -
						       folio->index)), 0,
			       (last - first) << PAGE_SHIFT);
			folio_unlock(folio);
		}
		folio_batch_release(&fbatch);
		cond_resched();
	}
}

/* Hole by hole, run by run; f->fill.pos tells how far it came. */
static int restore_range(struct image_fill *f, pgoff_t start, pgoff_t end)
{
	struct guest_memfd *gmem = f->fill.gmem;
	const u64 file_end = ((u64)end << PAGE_SHIFT) + f->shift;
	int err = 0;

	f->fill.pos = start;
	while (f->fill.pos < end && !err) {
		u64 here = ((u64)f->fill.pos << PAGE_SHIFT) + f->shift;
		u64 data = image_next_data(&f->image, here, file_end);
		u64 hole = image_next_hole(&f->image, data, file_end);
		pgoff_t data_page, hole_page;

		/* A page with any data is data. */
		data = ALIGN_DOWN(data, PAGE_SIZE);
		hole = ALIGN(hole, PAGE_SIZE);
		data_page = (data - f->shift) >> PAGE_SHIFT;
		hole_page = (hole - f->shift) >> PAGE_SHIFT;
		if (signal_pending(current))
			return fail(-EINTR, "a signal at page %" PRIu64,
				    f->fill.pos, 0, 0);
		zero_prepared(gmem, f->fill.pos, data_page);
		f->fill.pos = data_page;
		err = fill_from_image(f, data_page, hole_page);
	}
	return err;
}

int64_t guest_memfd_restore(struct guest_memfd *gmem, int fd, u64 file_offset,
			    u64 offset, u64 len)
{
	struct image_fill f = { .shift = file_offset - offset };
	int err = check_image(gmem, file_offset, offset, len);
	u64 there, done;

	if (err)
		return err;
	err = image_open(&f.image, fd);
	if (err)
		return fail(err, "descriptor %" PRIu64 " is no regular file",
			    (u64)fd, 0, 0);
	there = f.image.size > file_offset ?
		min(len, ALIGN_DOWN(f.image.size - file_offset, PAGE_SIZE)) : 0;
	gmem_fill_init(&f.fill, gmem, len >> PAGE_SHIFT);
	f.fill.overwrite = true;
	err = restore_range(&f, offset >> PAGE_SHIFT,
			    (offset + there) >> PAGE_SHIFT);
	gmem_fill_end(&f.fill);
	if (!err && there < len)
		err = fail_file(-ENODATA, file_offset + len);
	done = ((u64)f.fill.pos << PAGE_SHIFT) - offset;
	return done ? (int64_t)done : err;
}

/* ---- save ------------------------------------------------------------ */

struct saver {
	struct guest_memfd *gmem;
	struct image image;
	u64 shift;
	pgoff_t pos, end;		/* what is left */
	struct folio_batch fbatch;	/* the next folios from pos on */
	struct iovec iov[PAGEVEC_SIZE];	/* bytes from pos on */
	unsigned int nr;
	u64 bytes;
};

static u64 file_pos(const struct saver *s)
{
	return ((u64)s->pos << PAGE_SHIFT) + s->shift;
}

static int write_run(struct saver *s)
{
	u64 done;
	int err;

	if (!s->nr)
		return 0;
	err = image_write(&s->image, s->iov, s->nr, file_pos(s), &done);
	s->pos += done >> PAGE_SHIFT;
	s->nr = 0;
	s->bytes = 0;
	return err ? fail_file(err, file_pos(s)) : 0;
}

static int write_hole(struct saver *s, pgoff_t end)
{
	int err = write_run(s);

	if (err || s->pos >= end)
		return err;
	err = image_zero(&s->image, file_pos(s), (end - s->pos) << PAGE_SHIFT);
	if (err)
		return fail_file(err, file_pos(s));
	s->pos = end;
	return 0;
}

/* One folio that was found; what lies before it is a hole. */
static int save_folio(struct saver *s, struct folio *folio)
{
	pgoff_t behind = s->pos + (s->bytes >> PAGE_SHIFT), first, next;
	bool poisoned;
	int err = 0;

	if (!gmem_lock_prepared(s->gmem, folio))
		return 0;
	first = max(behind, folio->index);
	next = min(s->end, folio_next_index(folio));
	poisoned = gmem_poisoned(folio, first, next);
	folio_unlock(folio);
	if (first >= next)
		return 0;
	if (first > behind)
		err = write_hole(s, first);
	if (!err && poisoned)
		err = write_run(s);
	if (err)
		return err;
	if (poisoned)
		return fail(-EHWPOISON, "a page of %" PRIu64 "-%" PRIu64
			    " is poisoned", first, next - 1, 0);
	s->iov[s->nr++] = (struct iovec){
		.iov_base = page_address(folio_page(folio, first -
						    folio->index)),
		.iov_len = (next - first) << PAGE_SHIFT,
	};
	s->bytes += (next - first) << PAGE_SHIFT;
	return 0;
}

/* All of [pos, end); the references keep the bytes while they are written. */
static int save_range(struct saver *s)
{
	pgoff_t next = s->pos;
	int err = 0;

	while (!err && next < s->end &&
	       filemap_get_folios(&s->gmem->mapping, &next, s->end - 1,
				  &s->fbatch)) {
		for (unsigned int i = 0; i < s->fbatch.nr && !err; i++)
			err = save_folio(s, s->fbatch.folios[i]);
		if (!err)
			err = write_run(s);
		if (!err && signal_pending(current))
			err = fail(-EINTR, "a signal at page %" PRIu64, s->pos,
				   0, 0);
		folio_batch_release(&s->fbatch);
		cond_resched();
	}
	return err ? err : write_hole(s, s->end);
}

int64_t guest_memfd_save(struct guest_memfd *gmem, int fd, u64 file_offset,
			 u64 offset, u64 len)
{
	struct saver s = {
		.gmem = gmem, .shift = file_offset - offset,
		.pos = offset >> PAGE_SHIFT, .end = (offset + len) >> PAGE_SHIFT,
	};
	int err = check_image(gmem, file_offset, offset, len);
	u64 done;

	if (err)
		return err;
	err = image_open(&s.image, fd);
	if (err)
		return fail(err, "descriptor %" PRIu64 " is no regular file",
			    (u64)fd, 0, 0);
	folio_batch_init(&s.fbatch);
	if (len)
		err = save_range(&s);
	done = ((u64)s.pos << PAGE_SHIFT) - offset;
	return done ? (int64_t)done : err;
}
