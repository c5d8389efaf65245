/* SPDX-License-Identifier: MIT */
/*
 * Handles: the public opaque types are the engine's own structures.
 */
#ifndef API_HANDLE_H
#define API_HANDLE_H

#include "mm/mm.h"
#include "pinfold/pinfold.h"

static inline struct machine *machine_of(struct pf_machine *machine)
{
	return (struct machine *)machine;
}

static inline struct mm_struct *mm_of(struct pf_mm *mm)
{
	return (struct mm_struct *)mm;
}

static inline struct file *file_of(struct pf_file *file)
{
	return (struct file *)file;
}

static inline struct page *page_of(const struct pf_page *page)
{
	return (struct page *)page;
}

static inline struct page **pages_of(struct pf_page **pages)
{
	return (struct page **)pages;
}

/* Frame numbers and entries are of the machine that is entered. */
#define IN_MACHINE_OF(entered, call) ({					\
	struct machine *_previous = machine_enter(entered);		\
	__auto_type _ret = (call);					\
	machine_leave(_previous);					\
	_ret;								\
})

#endif
