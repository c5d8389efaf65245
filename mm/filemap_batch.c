/* SPDX-License-Identifier: MIT */
/*
 * The page cache: several folios in one walk.
 *
 * Locks: as mm/filemap.c
 * Source: mm/filemap.c
 */
#include "mm/filemap.h"

#include "mm/filemap_internal.h"

void folio_batch_remove_exceptionals(struct folio_batch *fbatch)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < fbatch->nr; i++)
		if (!xa_is_value(fbatch->folios[i]))
			fbatch->folios[nr++] = fbatch->folios[i];
	fbatch->nr = nr;
}

void folio_batch_release(struct folio_batch *fbatch)
{
	for (unsigned int i = 0; i < fbatch->nr; i++)
		folio_put(fbatch->folios[i]);
	fbatch->nr = 0;
}

/*
 * The next entry; a folio is returned with a reference.
 *
 * [filemap-recheck] a reference, then the slot again; paired with
 * page_cache_delete()
 */
static struct folio *find_get_entry(struct xa_state *xas, pgoff_t max,
				    xa_mark_t mark)
{
	for (;;) {
		struct folio *folio = mark == XA_PRESENT ?
				      xas_find(xas, max) :
				      xas_find_marked(xas, max, mark);

		if (xas_retry(xas, folio))
			continue;
		if (!folio || xa_is_value(folio))
			return folio;
		if (folio_try_get(folio)) {
			if (likely(folio == xas_reload(xas)))
				return folio;
			folio_put(folio);
		}
		cpu_relax();
		xas_reset(xas);
	}
}

static pgoff_t index_after(pgoff_t last)
{
	return last == (pgoff_t)-1 ? last : last + 1;
}

unsigned int filemap_get_folios_tag(struct address_space *mapping,
				    pgoff_t *start, pgoff_t end, xa_mark_t tag,
				    struct folio_batch *fbatch)
{
	XA_STATE(xas, &mapping->i_pages, *start);
	struct folio *folio;

	rcu_read_lock();
	while ((folio = find_get_entry(&xas, end, tag))) {
		if (xa_is_value(folio))
			continue;
		if (folio_batch_add(fbatch, folio))
			continue;
		*start = index_after(folio_next_index(folio) - 1);
		goto out;
	}
	*start = index_after(end);
out:
	rcu_read_unlock();
	return folio_batch_count(fbatch);
}

unsigned int filemap_get_folios(struct address_space *mapping, pgoff_t *start,
				pgoff_t end, struct folio_batch *fbatch)
{
	return filemap_get_folios_tag(mapping, start, end, XA_PRESENT, fbatch);
}

unsigned int filemap_get_folios_contig(struct address_space *mapping,
				       pgoff_t *start, pgoff_t end,
				       struct folio_batch *fbatch)
{
	pgoff_t index = *start;
	unsigned int room = PAGEVEC_SIZE - fbatch->nr;

	while (room && index <= end) {
		struct folio *folio = filemap_get_entry(mapping, index);

		if (!folio || xa_is_value(folio))
			break;
		/* A larger folio has taken the place of those before. */
		if (index != *start && folio->index != index) {
			folio_put(folio);
			break;
		}
		room = folio_batch_add(fbatch, folio);
		index = folio_next_index(folio);
		if (!index)
			break;
	}
	if (folio_batch_count(fbatch))
		*start = index_after(index - 1);
	return folio_batch_count(fbatch);
}

/* The extent of an entry that the cursor is at. */
static pgoff_t value_pages(const struct xa_state *xas)
{
	return (pgoff_t)1 << xas_get_order(xas);
}

unsigned int find_get_entries(struct address_space *mapping, pgoff_t *start,
			      pgoff_t end, struct folio_batch *fbatch,
			      pgoff_t *indices)
{
	XA_STATE(xas, &mapping->i_pages, *start);
	struct folio *folio;
	pgoff_t nr;

	rcu_read_lock();
	while ((folio = find_get_entry(&xas, end, XA_PRESENT))) {
		nr = xa_is_value(folio) ? value_pages(&xas) :
					  (pgoff_t)folio_nr_pages(folio);
		indices[fbatch->nr] = xas.xa_index;
		*start = (xas.xa_index & ~(nr - 1)) + nr;
		if (!folio_batch_add(fbatch, folio))
			break;
	}
	rcu_read_unlock();
	return folio_batch_count(fbatch);
}

/* All of it in [start, end], and nobody else's at the moment: lock it. */
static bool lock_entry(struct address_space *mapping, struct folio *folio,
		       pgoff_t start, pgoff_t end)
{
	if (folio->index < start || folio_next_index(folio) - 1 > end ||
	    !folio_trylock(folio))
		return false;
	if (folio->mapping == mapping && !folio_test_writeback(folio))
		return true;
	folio_unlock(folio);
	return false;
}

unsigned int find_lock_entries(struct address_space *mapping, pgoff_t *start,
			       pgoff_t end, struct folio_batch *fbatch,
			       pgoff_t *indices)
{
	XA_STATE(xas, &mapping->i_pages, *start);
	const pgoff_t first = *start;
	struct folio *folio;
	pgoff_t base, nr;

	rcu_read_lock();
	while ((folio = find_get_entry(&xas, end, XA_PRESENT))) {
		if (xa_is_value(folio)) {
			nr = value_pages(&xas);
			base = xas.xa_index & ~(nr - 1);
			if (base < first)
				continue;
			if (base + nr - 1 > end)
				break;
		} else {
			if (!lock_entry(mapping, folio, first, end)) {
				folio_put(folio);
				continue;
			}
			nr = (pgoff_t)folio_nr_pages(folio);
			base = folio->index;
		}
		*start = base + nr;
		indices[fbatch->nr] = base;
		if (!folio_batch_add(fbatch, folio))
			break;
	}
	rcu_read_unlock();
	return folio_batch_count(fbatch);
}

void delete_from_page_cache_batch(struct address_space *mapping,
				  struct folio_batch *fbatch)
{
	if (!folio_batch_count(fbatch))
		return;
	xa_lock(&mapping->i_pages);
	for (unsigned int i = 0; i < fbatch->nr; i++)
		page_cache_delete(mapping, fbatch->folios[i], NULL);
	xa_unlock(&mapping->i_pages);
	for (unsigned int i = 0; i < fbatch->nr; i++)
		filemap_free_folio(mapping, fbatch->folios[i]);
}
