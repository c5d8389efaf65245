/* SPDX-License-Identifier: MIT */
/*
 * Shapes: a machine with one address space, populated as somebody wants it.
 *
 * Either synthetic (so many bytes in folios of one order) or the rebuilt layout
 * of a process.  Pages come from real faults; only which folio order a fault may
 * use, and in which order free frames lie, is arranged beforehand.
 */
#ifndef LAB_SHAPE_H
#define LAB_SHAPE_H

#include "lab/layout.h"
#include "mm/mm.h"

/* Resident pages without a gap, inside one area. */
struct shape_range {
	pf_addr_t start;
	unsigned long nr_pages;
	bool write;		/* the area may be written */
};

struct shape {
	struct machine *machine;
	struct mm_struct *mm;
	struct shape_range *ranges;	/* ascending */
	size_t nr_ranges;
	unsigned long nr_pages;		/* in all ranges */
	unsigned long skipped_pages;	/* resident, but of inaccessible areas */
	unsigned long marked_pages;	/* of file mappings, anonymous here */
};

struct shape_options {
	bool shuffled;		/* frames in random order */
	u64 seed;		/* of the shuffle */
	bool metadata_only;
	u64 movable_bytes, cma_bytes;	/* more memory, of that kind */
};

/*
 * shape_synthetic() - @bytes of one area in folios of @order
 * @bytes: a multiple of 2 MiB, and of the folio size
 * @order: 0, 2 ... 9; or HPAGE_PUD_ORDER: hugetlb, which is never shuffled
 *
 * Return: 0, or a negative errno and the reason in error_text().
 * Owner: on success the caller, who calls shape_free().
 */
int __must_check shape_synthetic(u64 bytes, unsigned int order,
				 const struct shape_options *options,
				 struct shape **out);

/*
 * shape_scatter_cma() - page @place of each @every pages lies in a CMA block
 *
 * For a fresh synthetic shape of 4 KiB folios in ascending frames.  Its last
 * blocks give their pages and are no longer in its range.
 * Return: 0, or -EINVAL and the reason in error_text().
 */
int __must_check shape_scatter_cma(struct shape *shape, unsigned long every,
				   unsigned long place);

#define SHAPE_AS_CAPTURED (-1)

/*
 * shape_from_layout() - the areas, holes and folio orders of a layout
 * @order: SHAPE_AS_CAPTURED, or the order to use wherever it fits
 *
 * A folio starts at a multiple of its size; what does not fit, at the ends of a
 * run, is filled with the next smaller enabled size.  Unknown orders are 4 KiB.
 * All areas are private anonymous memory.  The machine is metadata-only.
 */
int __must_check shape_from_layout(const struct layout *layout, int order,
				   struct shape **out);

/* shape_free() - NULL allowed */
void shape_free(struct shape *shape);

/* What is really there, read back from the tables. */
struct shape_census {
	unsigned long pages;
	unsigned long folios[HPAGE_PUD_ORDER + 1];	/* by order */
	unsigned long pmd_leaves;
	unsigned long ascending;	/* folios whose frame follows a lower one */
	unsigned long adjacent;		/* ... and directly */
};

void shape_count(struct shape *shape, struct shape_census *census);

/*
 * shape_check() - is a synthetic shape what it claims to be?
 *
 * Return: 0, or -EINVAL and the reason in error_text().
 */
int __must_check shape_check(struct shape *shape, unsigned int order,
			     bool shuffled);

#endif
