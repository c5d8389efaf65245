/* SPDX-License-Identifier: MIT */
/*
 * Each index is walked and its folios are held against what they say
 * themselves; numbers are those of mm/filemap.h.
 */
#include "lab/validate_cache.h"

#include "lab/xa_validate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static bool __printf(2, 3) broken(int nr, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "cache_validate: invariant %d: ", nr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return false;
}

/* A value has no marks; a folio those that its flags ask for. */
static bool check_marks(struct xarray *xa, pgoff_t index,
			const struct folio *folio)
{
	bool dirty = xa_get_mark(xa, index, PAGECACHE_TAG_DIRTY);
	bool writeback = xa_get_mark(xa, index, PAGECACHE_TAG_WRITEBACK);
	bool towrite = xa_get_mark(xa, index, PAGECACHE_TAG_TOWRITE);

	if (xa_is_value(folio))
		return !dirty && !writeback && !towrite;
	return writeback == folio_test_writeback(folio) &&
	       (dirty || !folio_test_dirty(folio));
}

static bool check_cached(struct address_space *mapping, pgoff_t index,
			 struct folio *folio)
{
	unsigned int order = xa_get_order(&mapping->i_pages, index);

	if (folio->mapping != mapping || folio->index != index)
		return broken(2, "index %" PRIu64 " has the folio of %p, %"
			      PRIu64, index, (void *)folio->mapping,
			      folio->index);
	if (order != folio_order(folio) || index & ((1UL << order) - 1))
		return broken(3, "index %" PRIu64 ": an entry of order %u, a "
			      "folio of order %u", index, order,
			      folio_order(folio));
	return true;
}

static bool check_mapping(struct address_space *mapping, unsigned long *pages,
			  void (*found)(void *arg, struct folio *folio),
			  void *arg)
{
	struct xarray *xa = &mapping->i_pages;
	unsigned long nr = 0;
	struct folio *folio;
	pgoff_t index;

	if (xa->xa_lock.word || rwsem_is_locked(&mapping->invalidate_lock) ||
	    xa_validate(xa))
		return broken(1, "the index is locked, or no index");
	xa_for_each(xa, index, folio) {
		if (!check_marks(xa, index, folio))
			return broken(5, "index %" PRIu64 ": wrong marks",
				      index);
		if (xa_is_value(folio))
			continue;
		if (!check_cached(mapping, index, folio))
			return false;
		nr += (unsigned long)folio_nr_pages(folio);
		found(arg, folio);
	}
	/* Those of a pool are not the machine's file pages. */
	if (!mapping_hugetlb(mapping))
		*pages += nr;
	return nr == mapping->nrpages ||
	       broken(1, "%lu pages, nrpages says %lu", nr, mapping->nrpages);
}

bool cache_validate(struct machine *machine,
		    void (*found)(void *arg, struct folio *folio), void *arg)
{
	struct address_space *mapping;
	unsigned long pages = 0;

	list_for_each_entry(mapping, &machine->mapping_list, machine_list)
		if (!check_mapping(mapping, &pages, found, arg))
			return false;
	return (int64_t)pages == atomic64_read(&machine->nr_file_pages) ||
	       broken(1, "%lu pages in all, the machine says %" PRId64, pages,
		      atomic64_read(&machine->nr_file_pages));
}
