/* SPDX-License-Identifier: MIT */
/*
 * `pinfold vtop`: the walk of one address, level by level.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "host/errtext.h"
#include "lab/shape.h"
#include "mm/huge_memory.h"

static int help(void)
{
	puts("Usage: pinfold vtop --layout FILE ADDRESS\n"
	     "The page-table walk of an address, in the rebuilt layout of a "
	     "process.\n\n"
	     "  --layout FILE  from pinfold capture\n"
	     "  --help\n\n"
	     "ADDRESS is decimal, or hexadecimal with 0x.  Frames are those of "
	     "the machine\nthat the layout was rebuilt in, not the process's.");
	return EXIT_OK;
}

static void print_bits(u64 entry, bool leaf)
{
	static const struct { u64 bit; const char *name; } names[] = {
		{ _PAGE_PRESENT, "present" }, { _PAGE_RW, "writable" },
		{ _PAGE_USER, "user" }, { _PAGE_ACCESSED, "accessed" },
		{ _PAGE_DIRTY, "dirty" }, { _PAGE_PROTNONE, "protnone" },
		{ _PAGE_SPECIAL, "special" }, { _PAGE_UFFD_WP, "uffd-wp" },
		{ _PAGE_SOFT_DIRTY, "soft-dirty" }, { _PAGE_NX, "no-execute" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (entry & names[i].bit)
			printf(" %s", names[i].name);
	printf("%s\n", leaf ? " leaf" : "");
}

static void print_level(const char *level, unsigned int index, u64 entry,
			bool leaf)
{
	printf("%-4s [%3u] %016" PRIx64, level, index, entry);
	if (entry)
		printf("  frame %" PRIu64 ",", (entry & _PAGE_PFN_MASK) >>
		       PAGE_SHIFT);
	else
		printf("  none");
	print_bits(entry, leaf);
}

static void print_folio(struct page *page)
{
	struct folio *folio = page_folio(page);

	printf("page frame %" PRIu64 ", page %lu of a folio of %ld (order %u) "
	       "at frame %" PRIu64 "\n", page_to_pfn(page),
	       folio_page_idx(folio, page), folio_nr_pages(folio),
	       folio_order(folio), folio_pfn(folio));
	printf("     refcount %d, mapcount %d, pincount %d%s%s%s%s\n",
	       folio_ref_count(folio), folio_mapcount(folio),
	       atomic_read(&folio->_pincount),
	       folio_test_anon(folio) ? ", anonymous" : "",
	       PageAnonExclusive(page) || PageAnonExclusive(&folio->page) ?
	       ", exclusive" : "",
	       folio_test_dirty(folio) ? ", dirty" : "",
	       folio_test_lru(folio) ? ", on LRU" : "");
}

/* From the PMD entry down. */
static void walk_pmd(struct vm_area_struct *vma, pmd_t *pmd, pf_addr_t address)
{
	pmd_t entry = pmdp_get(pmd);
	struct page *page;
	pte_t *pte, value;

	print_level("PMD", pmd_index(address), pmd_val(entry), pmd_leaf(entry));
	if (pmd_leaf(entry)) {
		print_folio(pmd_page(entry) + pte_index(address));
		return;
	}
	if (pmd_none(entry))
		return;
	pte = pte_offset_map(pmd, address);
	value = ptep_get(pte);
	pte_unmap(pte);
	print_level("PTE", pte_index(address), pte_val(value), false);
	if (!pte_present(value))
		return;
	page = vm_normal_page(vma, address, value);
	if (page)
		print_folio(page);
	else
		puts("     no page descriptor to follow");
}

static void walk_tables(struct mm_struct *mm, struct vm_area_struct *vma,
			pf_addr_t address)
{
	p4d_t *p4d = p4d_offset(pgd_offset(mm, address), address);
	pud_t *pud;

	print_level("PGD", pgd_index(address), p4d_val(p4dp_get(p4d)), false);
	if (p4d_none(p4dp_get(p4d)))
		return;
	pud = pud_offset(p4d, address);
	print_level("PUD", pud_index(address), pud_val(pudp_get(pud)), false);
	if (!pud_none(pudp_get(pud)))
		walk_pmd(vma, pmd_offset(pud, address), address);
}

static const char *vma_name(const struct layout *layout, pf_addr_t address)
{
	for (size_t i = 0; i < layout->nr_vmas; i++)
		if (layout->vmas[i].start <= address &&
		    address < layout->vmas[i].end)
			return layout->vmas[i].name;
	return "";
}

static int walk(const struct layout *layout, pf_addr_t address)
{
	struct vm_area_struct *vma;
	struct machine *previous;
	struct shape *shape;

	if (shape_from_layout(layout, SHAPE_AS_CAPTURED, &shape))
		return failed("vtop", "%s", error_text());
	previous = machine_enter(shape->machine);
	mmap_read_lock(shape->mm);
	vma = vma_lookup(shape->mm, address);
	if (vma) {
		printf("%#" PRIx64 " in area %#" PRIx64 "-%#" PRIx64
		       " %c%c%c %s\n", address, vma->vm_start, vma->vm_end,
		       vma->vm_flags & VM_READ ? 'r' : '-',
		       vma->vm_flags & VM_WRITE ? 'w' : '-',
		       vma->vm_flags & VM_EXEC ? 'x' : '-',
		       vma_name(layout, address));
		walk_tables(shape->mm, vma, address);
	}
	mmap_read_unlock(shape->mm);
	machine_leave(previous);
	shape_free(shape);
	return vma ? EXIT_OK : failed("vtop", "no area of the layout contains "
				      "%#" PRIx64, address);
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "layout", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *file = NULL;
	struct layout_error why;
	struct layout *layout;
	u64 address;
	int c, ret;

	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (c == 'h')
			return help();
		if (c != 'l')
			return bad_option("vtop", c, argv);
		file = optarg;
	}
	if (!file)
		return usage_error("vtop", "--layout FILE is missing");
	if (optind != argc - 1)
		return usage_error("vtop", "one ADDRESS is needed, not %d",
				   argc - optind);
	if (!parse_u64(argv[optind], 0, TASK_CEILING - 1, &address))
		return usage_error("vtop", "ADDRESS is 0 to %#" PRIx64
				   ", not '%s'", TASK_CEILING - 1,
				   argv[optind]);
	if (layout_read(file, &layout, &why))
		return failed("vtop", "%s", why.text);
	ret = walk(layout, address);
	layout_free(layout);
	return ret;
}

const struct subcommand cmd_vtop = {
	"vtop", "the page-table walk of an address, level by level", run,
};
