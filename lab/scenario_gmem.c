/* SPDX-License-Identifier: MIT */
#include "lab/scenario_gmem.h"

#include "mm/gfp.h"

#include <errno.h>

#define PAGE_WORDS	(PINFOLD_PAGE_SIZE / sizeof(u64))

void race_gmem(struct race *r, unsigned long nr_pages, unsigned int max_order)
{
	u64 flags = max_order ? PINFOLD_GUEST_MEMFD_FOLIOS(max_order) : 0;

	race_check(!pf_guest_memfd_create(r->machine, race_bytes(nr_pages),
					  flags, &r->gmem));
}

/* The bytes are the thread's own: not the stack's, there may be many. */
long race_gmem_populate(struct race *r, struct race_hold *mine,
			unsigned long page, unsigned long nr, u64 value)
{
	u64 *words = kzalloc(race_bytes(nr));
	int64_t ret;

	race_check(words);
	for (unsigned long i = 0; i < nr; i++) {
		words[i * PAGE_WORDS] = value;
		words[(i + 1) * PAGE_WORDS - 1] = value;
	}
	ret = pf_guest_memfd_populate(r->gmem, race_bytes(page), words,
				      race_bytes(nr));
	kfree(words);
	race_check(ret > 0 || ret == -EEXIST);
	mine->succeeded += ret > 0;
	return ret > 0 ? (long)(ret / PINFOLD_PAGE_SIZE) : (long)ret;
}

int race_gmem_allocate(struct race *r, struct race_hold *mine,
		       unsigned long page, unsigned long nr)
{
	int err = pf_guest_memfd_allocate(r->gmem, race_bytes(page),
					  race_bytes(nr));

	mine->succeeded += !err;
	return err;
}

void race_gmem_punch(struct race *r, struct race_hold *mine, unsigned long page,
		     unsigned long nr)
{
	race_check(!pf_guest_memfd_punch(r->gmem, race_bytes(page),
					 race_bytes(nr)));
	race_done(mine);
}

void race_gmem_get(struct race *r, struct race_hold *mine, unsigned long page)
{
	race_check(!pf_guest_memfd_get_pfn(r->gmem, page,
					   &mine->pages[mine->nr]));
	mine->nr++;
	race_done(mine);
}

u64 race_gmem_value(struct race *r, unsigned long page)
{
	u64 words[PAGE_WORDS];

	race_check(pf_guest_memfd_read(r->gmem, race_bytes(page), words,
				       sizeof(words)) == sizeof(words));
	race_check(words[0] == words[PAGE_WORDS - 1]);
	return words[0];
}

struct pf_page *race_gmem_frame(struct race *r, unsigned long page)
{
	struct pf_page *frame;

	race_check(!pf_guest_memfd_get_pfn(r->gmem, page, &frame));
	pf_put_page(frame);
	return frame;
}
