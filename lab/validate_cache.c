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

/* Nodes that ought to be on the list of shadow nodes, and are. */
static bool check_nodes(const void *entry, bool listens, unsigned long *listed)
{
	const struct xa_node *node = xa_to_node(entry);
	bool shadows, is_listed;

	if (!xa_is_node(entry))
		return true;
	shadows = listens && node->count == node->nr_values;
	is_listed = !list_empty(&node->private_list);
	if (shadows != is_listed)
		return broken(6, "a node of %u entries, %u of them values, is "
			      "%son the list", node->count, node->nr_values,
			      is_listed ? "" : "not ");
	*listed += is_listed;
	for (unsigned int i = 0; i < XA_CHUNK_SIZE; i++)
		if (!check_nodes(node->slots[i], listens, listed))
			return false;
	return true;
}

static bool check_shadow_list(struct machine *machine, unsigned long listed)
{
	const struct workingset *ws = &machine->workingset;
	const struct xa_node *node;
	unsigned long nr = 0;

	list_for_each_entry(node, &ws->shadow_nodes, private_list)
		nr++;
	return (nr == listed && nr == ws->nr_shadow_nodes) ||
	       broken(6, "%lu nodes are listed, %lu found, %lu said", nr,
		      listed, ws->nr_shadow_nodes);
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
	unsigned long pages = 0, listed = 0;

	list_for_each_entry(mapping, &machine->mapping_list, machine_list)
		if (!check_mapping(mapping, &pages, found, arg) ||
		    !check_nodes(mapping->i_pages.xa_head,
				 mapping->i_pages.xa_update, &listed))
			return false;
	if (!check_shadow_list(machine, listed))
		return false;
	return (int64_t)pages == atomic64_read(&machine->nr_file_pages) ||
	       broken(1, "%lu pages in all, the machine says %" PRId64, pages,
		      atomic64_read(&machine->nr_file_pages));
}
