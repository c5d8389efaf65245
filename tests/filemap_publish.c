/* SPDX-License-Identifier: MIT */
/*
 * Claim: folios that are published together are in the cache as if they had been
 * added and filled one by one, up to the first place that is not empty; nobody
 * finds one of them without its contents, and where folios can be evicted none
 * is lost.
 *
 * Source: semantics/filemap.md 3.3 (C1-C10), 3.4, table B of 8.4 (B4, B10, B17,
 *         B24); cases.md H1
 */
#include "tests/filemap_test.h"

#include "host/event.h"
#include "mm/filemap_publish.h"
#include "mm/truncate.h"

#include <pthread.h>

static struct folio *folios[FILEMAP_PUBLISH_MAX];

static struct folio *new_folio(unsigned int order)
{
	struct folio *folio = filemap_alloc_folio(map.gfp_mask, order);

	assert_non_null(folio);
	return folio;
}

/* Single folios for [@index, + @nr); what is not taken is put. */
static int publish_singles(pgoff_t index, unsigned int nr)
{
	struct filemap_publish publish;
	int done;

	for (unsigned int i = 0; i < nr; i++)
		folios[i] = new_folio(0);
	filemap_publish_init(&publish, &map);
	done = filemap_publish_folios(&publish, index, folios, nr);
	filemap_publish_end(&publish);
	for (unsigned int i = max(done, 0); i < nr; i++) {
		assert_null(folios[i]->mapping);
		assert_false(folio_test_uptodate(folios[i]));
		assert_int_equal(folio_ref_count(folios[i]), 1);
		folio_put(folios[i]);
	}
	return done;
}

static void check_published(pgoff_t index, unsigned int nr)
{
	lru_add_drain_all(the_machine());
	for (unsigned int i = 0; i < nr; i++) {
		assert_ptr_equal(xa_load(&map.i_pages, index + i), folios[i]);
		assert_true(folio_test_uptodate(folios[i]));
		assert_false(folio_test_locked(folios[i]));
		assert_int_equal(folio_ref_count(folios[i]), 1);
		assert_int_equal(folio_test_dirty(folios[i]),
				 !mapping_unevictable(&map));
		assert_int_equal(folio_test_lru(folios[i]),
				 !mapping_unevictable(&map));
		assert_int_equal(xa_get_mark(&map.i_pages, index + i,
					     PAGECACHE_TAG_DIRTY),
				 !mapping_unevictable(&map));
	}
}

static void test_empty(void **state)
{
	static const pgoff_t starts[] = { 0, 1, 63, 64, 4095, 1UL << 30 };

	(void)state;
	for (unsigned int inaccessible = 0; inaccessible < 2; inaccessible++) {
		cache_begin();
		if (inaccessible)
			mapping_set_inaccessible(&map);
		for (unsigned int s = 0; s < ARRAY_SIZE(starts); s++) {
			for (unsigned int nr = 1; nr <= 64; nr += 21) {
				assert_int_equal(publish_singles(starts[s], nr),
						 nr);
				assert_int_equal(map.nrpages, nr);
				check_published(starts[s], nr);
				cache_empty();
			}
		}
		cache_end();
	}
}

/*
 * All patterns of present, shadow, absent over eight indices, the leaf's end
 * among them: a prefix up to the first present folio, as one by one.
 */
static void test_case_H1_publish(void **state)
{
	(void)state;
	cache_begin();
	for (unsigned int pattern = 0; pattern < 6561; pattern++) {
		pgoff_t base = pattern & 1 ? 60 : 0;
		struct folio *was[8] = { NULL };
		unsigned int p = pattern, first = 8;
		int done;

		for (unsigned int i = 0; i < 8; i++, p /= 3) {
			if (p % 3 == 1)
				was[i] = cache_add(base + i, 0);
			else if (p % 3 == 2)
				cache_shadow(base + i, 0, i);
			if (was[i])
				first = min(first, i);
		}
		done = publish_singles(base, 8);
		assert_int_equal(done, first ? (int)first : -EEXIST);
		check_published(base, first);
		p = pattern;
		for (unsigned int i = 0; i < 8; i++, p /= 3) {
			void *entry = xa_load(&map.i_pages, base + i);

			if (i >= first)
				assert_ptr_equal(entry, p % 3 == 1 ? was[i] :
						 p % 3 ? xa_mk_value(i) : NULL);
			if (was[i])
				assert_false(folio_test_uptodate(was[i]));
		}
		if (pattern % 97 == 0)
			assert_valid(&t);
		cache_empty();
	}
	cache_end();
}

/* Sizes mixed, over a shadow; a folio in the range of a large one ends it. */
static void test_fm_B10_publish(void **state)
{
	static const unsigned int orders[] = { 0, 0, 6, 7, 8, 9 };
	struct filemap_publish publish;
	pgoff_t index = 62;

	(void)state;
	cache_begin();
	cache_shadow(512, 9, 5);
	cache_add(1024 + 100, 0);
	filemap_publish_init(&publish, &map);
	for (unsigned int i = 0; i < 6; i++)
		folios[i] = new_folio(orders[i]);
	assert_int_equal(filemap_publish_folios(&publish, 62, folios, 6), 6);
	for (unsigned int i = 0; i < 6; index += 1UL << orders[i++])
		assert_ptr_equal(xa_load(&map.i_pages, index), folios[i]);
	check_published(62, 2);
	assert_int_equal(map.nrpages, 2 + 64 + 128 + 256 + 512 + 1);
	folios[0] = new_folio(9);
	assert_int_equal(filemap_publish_folios(&publish, 1024, folios, 1),
			 -EEXIST);
	assert_int_equal(folio_ref_count(folios[0]), 1);
	assert_false(folio_test_locked(folios[0]));
	assert_false(folio_test_dirty(folios[0]));
	folio_put(folios[0]);
	filemap_publish_end(&publish);
	cache_end();
}

/* Each allocation fails in turn: a prefix, or -ENOMEM; nothing is left over. */
static void test_fm_B4_publish(void **state)
{
	const pgoff_t start = (1UL << 20) - 20;
	bool whole = false;

	(void)state;
	for (long n = 1; !whole; n++) {
		struct filemap_publish publish;
		int done;

		cache_begin();
		cache_shadow(start + 24, 2, 7);
		for (unsigned int i = 0; i < 40; i++)
			folios[i] = new_folio(0);
		filemap_publish_init(&publish, &map);
		current->fail_nth = n;
		done = filemap_publish_folios(&publish, start, folios, 40);
		whole = current->fail_nth > 0;
		current->fail_nth = 0;
		filemap_publish_end(&publish);
		if (done < 0)
			assert_int_equal(done, -ENOMEM);
		else
			check_published(start, (unsigned int)done);
		assert_int_equal(map.nrpages, max(done, 0));
		for (unsigned int i = max(done, 0); i < 40; i++)
			folio_put(folios[i]);
		if (whole)
			assert_int_equal(done, 40);
		cache_end();
		assert_true(n < 100);
	}
}

/*
 * One hold of the lock for each leaf, none of which allocates (node_zalloc()
 * looks), and no count of a folio is touched.
 */
static void test_fm_B15_publish(void **state)
{
	struct filemap_publish publish;
	u64 locks, descents, atomics;

	(void)state;
	cache_begin();
	mapping_set_inaccessible(&map);
	filemap_publish_init(&publish, &map);
	for (pgoff_t index = 64; index < 64 * 33; index += 64) {
		for (unsigned int i = 0; i < 64; i++)
			folios[i] = new_folio(0);
		locks = event_counts[EV_XA_LOCK];
		descents = event_counts[EV_XA_DESCENTS];
		atomics = event_counts[EV_ATOMICS];
		assert_int_equal(filemap_publish_folios(&publish, index, folios,
							64), 64);
		assert_int_equal(event_counts[EV_XA_LOCK] - locks, 1);
		assert_int_equal(event_counts[EV_XA_DESCENTS] - descents, 1);
		/* nr_file_pages */
		assert_int_equal(event_counts[EV_ATOMICS] - atomics, 1);
	}
	filemap_publish_end(&publish);
	cache_end();
}

static bool stop;

static void *drop_clean(void *arg)
{
	struct machine *previous = machine_enter(the_machine());

	(void)arg;
	while (!READ_ONCE(stop))
		invalidate_mapping_pages(&map, 0, 255);
	machine_leave(previous);
	return NULL;
}

/* Nothing that is published can be dropped as clean, not for a moment. */
static void test_fm_B24(void **state)
{
	pthread_t thread;

	(void)state;
	cache_begin();
	WRITE_ONCE(stop, false);
	assert_int_equal(pthread_create(&thread, NULL, drop_clean, NULL), 0);
	for (unsigned int round = 0; round < 100; round++) {
		for (pgoff_t index = 0; index < 256; index += 64)
			assert_int_equal(publish_singles(index, 64), 64);
		assert_int_equal(READ_ONCE(map.nrpages), 256);
		for (pgoff_t i = 0; i < 256; i++) {
			struct folio *folio = filemap_lock_folio(&map, i);

			assert_false(IS_ERR(folio));
			folio_cancel_dirty(folio);
			filemap_remove_folio(folio);
			let_go(folio);
		}
	}
	WRITE_ONCE(stop, true);
	pthread_join(thread, NULL);
	cache_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_case_H1_publish),
		cmocka_unit_test(test_fm_B10_publish),
		cmocka_unit_test(test_fm_B4_publish),
		cmocka_unit_test(test_fm_B15_publish),
		cmocka_unit_test(test_fm_B24),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
