/* SPDX-License-Identifier: MIT */
/*
 * x86-64 page-table entries: four levels, 4 KiB granule, leaves at PTE, PMD, PUD.
 *
 *   63 62..59 58 57..52 51 ........ 12 11 10  9  8  7  6  5  4  3  2  1  0
 *   NX pkey         .   frame number   SD UW SP  G PS  D  A CD WT  U RW  P
 *
 * P present, RW writable, U user, A accessed, D dirty, PS leaf (PMD, PUD), NX no
 * execute; software bits: SP special (no struct page), UW userfaultfd
 * write-protected, SD soft-dirty.  PROT_NONE: P clear, G set, all else kept.
 *
 * Not present and not none (swap format):
 *
 *   63 .. 59 58 ...................... 9  8  7 .. 4  3  2  1  0
 *   type     offset, inverted             0    0     E  UW SD 0
 *
 * E: the page was exclusive when it left.
 *
 * Source: Intel SDM vol. 3A ch. 4; arch/x86/include/asm/pgtable_types.h,
 *         arch/x86/include/asm/pgtable_64.h
 */
#ifndef ARCH_X86_64_PGTABLE_TYPES_H
#define ARCH_X86_64_PGTABLE_TYPES_H

#include "host/compiler.h"
#include "host/types.h"

#define PAGE_SHIFT	12
#define PAGE_SIZE	((pf_addr_t)1 << PAGE_SHIFT)
#define PAGE_MASK	(~(PAGE_SIZE - 1))
#define PMD_SHIFT	21
#define PMD_SIZE	((pf_addr_t)1 << PMD_SHIFT)
#define PMD_MASK	(~(PMD_SIZE - 1))
#define PUD_SHIFT	30
#define PUD_SIZE	((pf_addr_t)1 << PUD_SHIFT)
#define PUD_MASK	(~(PUD_SIZE - 1))
#define PGDIR_SHIFT	39
#define PGDIR_SIZE	((pf_addr_t)1 << PGDIR_SHIFT)
#define PGDIR_MASK	(~(PGDIR_SIZE - 1))
#define PTRS_PER_PTE	512
#define PTRS_PER_PMD	512
#define PTRS_PER_PUD	512
#define PTRS_PER_PGD	512

#define HPAGE_PMD_SHIFT	PMD_SHIFT
#define HPAGE_PMD_ORDER	(PMD_SHIFT - PAGE_SHIFT)
#define HPAGE_PMD_NR	(1 << HPAGE_PMD_ORDER)
#define HPAGE_PMD_SIZE	PMD_SIZE
#define HPAGE_PMD_MASK	PMD_MASK
#define HPAGE_PUD_ORDER	(PUD_SHIFT - PAGE_SHIFT)
#define HPAGE_PUD_NR	(1 << HPAGE_PUD_ORDER)

/* The user half of the address space, less the guard page. */
#define TASK_SIZE_MAX	(((pf_addr_t)1 << 47) - PAGE_SIZE)
#define TASK_SIZE	TASK_SIZE_MAX

/* One-member structs, so that nobody adds two entries by accident. */
typedef struct { u64 pgd; } pgd_t;
typedef struct { pgd_t pgd; } p4d_t;	/* folded: the PGD entry itself */
typedef struct { u64 pud; } pud_t;
typedef struct { u64 pmd; } pmd_t;
typedef struct { u64 pte; } pte_t;
typedef struct { u64 pgprot; } pgprot_t;

#define _PAGE_PRESENT	((u64)1 << 0)
#define _PAGE_RW	((u64)1 << 1)
#define _PAGE_USER	((u64)1 << 2)
#define _PAGE_ACCESSED	((u64)1 << 5)
#define _PAGE_DIRTY	((u64)1 << 6)
#define _PAGE_PSE	((u64)1 << 7)
#define _PAGE_PROTNONE	((u64)1 << 8)
#define _PAGE_SPECIAL	((u64)1 << 9)
#define _PAGE_UFFD_WP	((u64)1 << 10)
#define _PAGE_SOFT_DIRTY ((u64)1 << 11)
#define _PAGE_NX	((u64)1 << 63)
#define _PAGE_PFN_MASK	((((u64)1 << 52) - 1) & PAGE_MASK)
#define _PAGE_TABLE	(_PAGE_PRESENT | _PAGE_RW | _PAGE_USER | \
			 _PAGE_ACCESSED | _PAGE_DIRTY)
#define _PAGE_SWP_SOFT_DIRTY	((u64)1 << 1)
#define _PAGE_SWP_UFFD_WP	((u64)1 << 2)
#define _PAGE_SWP_EXCLUSIVE	((u64)1 << 3)

static inline pte_t __pte(u64 val)	{ return (pte_t){ val }; }
static inline pmd_t __pmd(u64 val)	{ return (pmd_t){ val }; }
static inline pud_t __pud(u64 val)	{ return (pud_t){ val }; }
static inline pgd_t __pgd(u64 val)	{ return (pgd_t){ val }; }
static inline p4d_t __p4d(u64 val)	{ return (p4d_t){ { val } }; }
static inline u64 pte_val(pte_t pte)	{ return pte.pte; }
static inline u64 pmd_val(pmd_t pmd)	{ return pmd.pmd; }
static inline u64 pud_val(pud_t pud)	{ return pud.pud; }
static inline u64 pgd_val(pgd_t pgd)	{ return pgd.pgd; }
static inline u64 p4d_val(p4d_t p4d)	{ return p4d.pgd.pgd; }

static inline unsigned int pte_index(pf_addr_t addr)
{
	return addr >> PAGE_SHIFT & (PTRS_PER_PTE - 1);
}

static inline unsigned int pmd_index(pf_addr_t addr)
{
	return addr >> PMD_SHIFT & (PTRS_PER_PMD - 1);
}

static inline unsigned int pud_index(pf_addr_t addr)
{
	return addr >> PUD_SHIFT & (PTRS_PER_PUD - 1);
}

static inline unsigned int pgd_index(pf_addr_t addr)
{
	return addr >> PGDIR_SHIFT & (PTRS_PER_PGD - 1);
}

/* x_addr_end() - the end of the part of [addr, end) that one entry covers */
#define level_addr_end(addr, end, size) ({				\
	pf_addr_t _next = ((addr) + (size)) & ~((size) - 1);		\
	_next - 1 < (end) - 1 ? _next : (end);				\
})
#define pgd_addr_end(addr, end)	level_addr_end(addr, end, PGDIR_SIZE)
#define p4d_addr_end(addr, end)	(end)
#define pud_addr_end(addr, end)	level_addr_end(addr, end, PUD_SIZE)
#define pmd_addr_end(addr, end)	level_addr_end(addr, end, PMD_SIZE)

/* Upper levels: none, or a table below. */
static inline bool pgd_none(pgd_t pgd __maybe_unused)	{ return false; }
static inline bool pgd_bad(pgd_t pgd __maybe_unused)	{ return false; }
static inline bool pgd_present(pgd_t pgd __maybe_unused) { return true; }
static inline bool pgd_leaf(pgd_t pgd __maybe_unused)	{ return false; }

static inline bool p4d_none(p4d_t p4d)
{
	return p4d_val(p4d) == 0;
}

static inline bool p4d_present(p4d_t p4d)
{
	return p4d_val(p4d) & _PAGE_PRESENT;
}

static inline bool p4d_leaf(p4d_t p4d __maybe_unused)
{
	return false;
}

static inline bool p4d_bad(p4d_t p4d)
{
	return (p4d_val(p4d) & ~(_PAGE_PFN_MASK | _PAGE_NX)) != _PAGE_TABLE;
}

static inline bool pud_none(pud_t pud)
{
	return pud_val(pud) == 0;
}

static inline bool pud_present(pud_t pud)
{
	return pud_val(pud) & (_PAGE_PRESENT | _PAGE_PROTNONE | _PAGE_PSE);
}

static inline bool pud_leaf(pud_t pud)
{
	return pud_val(pud) & _PAGE_PSE;
}

static inline bool pud_write(pud_t pud)
{
	return pud_val(pud) & _PAGE_RW;
}

static inline bool pud_bad(pud_t pud)
{
	return (pud_val(pud) & ~(_PAGE_PFN_MASK | _PAGE_NX)) != _PAGE_TABLE;
}

static inline bool pmd_none(pmd_t pmd)
{
	return pmd_val(pmd) == 0;
}

/*
 * A leaf that is being split is not P for a moment but keeps PS: it is present
 * for everybody who looks at the entry.
 */
static inline bool pmd_present(pmd_t pmd)
{
	return pmd_val(pmd) & (_PAGE_PRESENT | _PAGE_PROTNONE | _PAGE_PSE);
}

static inline bool pmd_leaf(pmd_t pmd)
{
	return pmd_val(pmd) & _PAGE_PSE;
}

static inline bool pmd_trans_huge(pmd_t pmd)
{
	return pmd_leaf(pmd);
}

static inline bool pmd_bad(pmd_t pmd)
{
	return (pmd_val(pmd) & ~(_PAGE_PFN_MASK | _PAGE_NX)) != _PAGE_TABLE;
}

static inline bool pmd_protnone(pmd_t pmd)
{
	return (pmd_val(pmd) & (_PAGE_PROTNONE | _PAGE_PRESENT)) ==
	       _PAGE_PROTNONE;
}

static inline pf_pfn_t pgd_pfn(pgd_t pgd)
{
	return (pgd_val(pgd) & _PAGE_PFN_MASK) >> PAGE_SHIFT;
}

static inline pf_pfn_t pud_pfn(pud_t pud)
{
	return (pud_val(pud) & _PAGE_PFN_MASK) >> PAGE_SHIFT;
}

static inline pf_pfn_t pmd_pfn(pmd_t pmd)
{
	return (pmd_val(pmd) & _PAGE_PFN_MASK) >> PAGE_SHIFT;
}

static inline pf_pfn_t pte_pfn(pte_t pte)
{
	return (pte_val(pte) & _PAGE_PFN_MASK) >> PAGE_SHIFT;
}

static inline bool pte_none(pte_t pte)
{
	return pte_val(pte) == 0;
}

static inline bool pte_present(pte_t pte)
{
	return pte_val(pte) & (_PAGE_PRESENT | _PAGE_PROTNONE);
}

static inline bool pte_protnone(pte_t pte)
{
	return (pte_val(pte) & (_PAGE_PROTNONE | _PAGE_PRESENT)) ==
	       _PAGE_PROTNONE;
}

/*
 * x_access_permitted() - may a user reach the memory through this very entry?
 *
 * For walks that see no area: what the entry does not say is not permitted.
 */
static inline bool entry_access_permitted(u64 val, bool write)
{
	const u64 need = _PAGE_PRESENT | _PAGE_USER | (write ? _PAGE_RW : 0);

	return (val & need) == need;
}

static inline bool pte_access_permitted(pte_t pte, bool write)
{
	return entry_access_permitted(pte_val(pte), write);
}

static inline bool pmd_access_permitted(pmd_t pmd, bool write)
{
	return entry_access_permitted(pmd_val(pmd), write);
}

/* pte_is_plain_writable() - present, writable, and maps an ordinary page */
static inline bool pte_is_plain_writable(pte_t pte)
{
	return (pte_val(pte) & (_PAGE_PRESENT | _PAGE_RW | _PAGE_SPECIAL)) ==
	       (_PAGE_PRESENT | _PAGE_RW);
}

static inline bool pte_same(pte_t a, pte_t b)
{
	return pte_val(a) == pte_val(b);
}

/*
 * Bit accessors.  pte_x() reads, pte_mkx() and pte_y() return a changed copy;
 * the PMD forms are the same bits one level up.
 */
#define DEFINE_ENTRY_BIT(get, set, clear, bit)				\
static inline bool pte_##get(pte_t pte)					\
{									\
	return pte_val(pte) & (bit);					\
}									\
static inline pte_t pte_##set(pte_t pte)				\
{									\
	return __pte(pte_val(pte) | (bit));				\
}									\
static inline pte_t pte_##clear(pte_t pte)				\
{									\
	return __pte(pte_val(pte) & ~(bit));				\
}									\
static inline bool pmd_##get(pmd_t pmd)					\
{									\
	return pmd_val(pmd) & (bit);					\
}									\
static inline pmd_t pmd_##set(pmd_t pmd)				\
{									\
	return __pmd(pmd_val(pmd) | (bit));				\
}									\
static inline pmd_t pmd_##clear(pmd_t pmd)				\
{									\
	return __pmd(pmd_val(pmd) & ~(bit));				\
}

DEFINE_ENTRY_BIT(write, mkwrite_novma, wrprotect, _PAGE_RW)
DEFINE_ENTRY_BIT(young, mkyoung, mkold, _PAGE_ACCESSED)
DEFINE_ENTRY_BIT(dirty, mkdirty_hw, mkclean, _PAGE_DIRTY)
DEFINE_ENTRY_BIT(soft_dirty, mksoft_dirty, clear_soft_dirty, _PAGE_SOFT_DIRTY)
DEFINE_ENTRY_BIT(special, mkspecial, clear_special, _PAGE_SPECIAL)
DEFINE_ENTRY_BIT(uffd_wp, mkuffd_wp, clear_uffd_wp, _PAGE_UFFD_WP)
#undef DEFINE_ENTRY_BIT

/* A store makes an entry dirty and soft-dirty. */
static inline pte_t pte_mkdirty(pte_t pte)
{
	return pte_mksoft_dirty(pte_mkdirty_hw(pte));
}

static inline pmd_t pmd_mkdirty(pmd_t pmd)
{
	return pmd_mksoft_dirty(pmd_mkdirty_hw(pmd));
}

static inline pte_t pfn_pte(pf_pfn_t pfn, pgprot_t prot)
{
	return __pte((u64)pfn << PAGE_SHIFT | prot.pgprot);
}

static inline pmd_t pfn_pmd(pf_pfn_t pfn, pgprot_t prot)
{
	return __pmd((u64)pfn << PAGE_SHIFT | prot.pgprot);
}

static inline pmd_t pmd_mkhuge(pmd_t pmd)
{
	return __pmd(pmd_val(pmd) | _PAGE_PSE);
}

/* pte_modify() - the entry with the protection of @prot, its state kept */
#define _PAGE_CHG_MASK	(_PAGE_PFN_MASK | _PAGE_SPECIAL | _PAGE_ACCESSED | \
			 _PAGE_DIRTY | _PAGE_SOFT_DIRTY | _PAGE_UFFD_WP)

static inline pte_t pte_modify(pte_t pte, pgprot_t prot)
{
	return __pte((pte_val(pte) & _PAGE_CHG_MASK) |
		     (prot.pgprot & ~_PAGE_CHG_MASK));
}

static inline pmd_t pmd_modify(pmd_t pmd, pgprot_t prot)
{
	const u64 keep = _PAGE_CHG_MASK | _PAGE_PSE;

	return __pmd((pmd_val(pmd) & keep) | (prot.pgprot & ~keep));
}

/*
 * prot_none entries keep every other bit, so that they can be followed and
 * given back their permissions.
 */
static inline pgprot_t prot_for(bool read, bool write, bool exec)
{
	u64 bits = _PAGE_USER | _PAGE_ACCESSED;

	if (!read && !write && !exec)
		return (pgprot_t){ _PAGE_PROTNONE | _PAGE_ACCESSED | _PAGE_NX };
	bits |= _PAGE_PRESENT;
	if (write)
		bits |= _PAGE_RW;
	if (!exec)
		bits |= _PAGE_NX;
	return (pgprot_t){ bits };
}

/* Swap format: the type says what kind of non-present entry it is. */
typedef struct { u64 val; } swp_entry_t;

#define SWP_TYPE_SHIFT		59
#define SWP_OFFSET_SHIFT	9
#define SWP_OFFSET_BITS		(SWP_TYPE_SHIFT - SWP_OFFSET_SHIFT)
#define SWP_OFFSET_MASK		(((u64)1 << SWP_OFFSET_BITS) - 1)

static inline swp_entry_t swp_entry(unsigned int type, u64 offset)
{
	return (swp_entry_t){ (u64)type << SWP_TYPE_SHIFT |
			      (offset & SWP_OFFSET_MASK) };
}

static inline unsigned int swp_type(swp_entry_t entry)
{
	return entry.val >> SWP_TYPE_SHIFT;
}

static inline u64 swp_offset(swp_entry_t entry)
{
	return entry.val & SWP_OFFSET_MASK;
}

static inline pte_t swp_entry_to_pte(swp_entry_t entry)
{
	u64 offset = ~swp_offset(entry) & SWP_OFFSET_MASK;

	return __pte((u64)swp_type(entry) << SWP_TYPE_SHIFT |
		     offset << SWP_OFFSET_SHIFT);
}

/* The same bits of entries that are neither none nor present. */
#define DEFINE_SWP_BIT(name, bit)					\
static inline bool pte_swp_##name(pte_t pte)				\
{									\
	return pte_val(pte) & (bit);					\
}									\
static inline pte_t pte_swp_mk##name(pte_t pte)				\
{									\
	return __pte(pte_val(pte) | (bit));				\
}									\
static inline pte_t pte_swp_clear_##name(pte_t pte)			\
{									\
	return __pte(pte_val(pte) & ~(bit));				\
}

DEFINE_SWP_BIT(soft_dirty, _PAGE_SWP_SOFT_DIRTY)
DEFINE_SWP_BIT(uffd_wp, _PAGE_SWP_UFFD_WP)
#undef DEFINE_SWP_BIT

static inline swp_entry_t pte_to_swp_entry(pte_t pte)
{
	u64 offset = ~(pte_val(pte) >> SWP_OFFSET_SHIFT) & SWP_OFFSET_MASK;

	return swp_entry(pte_val(pte) >> SWP_TYPE_SHIFT, offset);
}

#endif
