/* SPDX-License-Identifier: MIT */
#include "lab/explore/object.h"

#include "lab/explore/heap.h"
#include "lab/scenario.h"
#include "mm/mm.h"

#include <inttypes.h>
#include <stdio.h>

struct field {
	const char *name;
	size_t offset, bytes;
};

#define FIELD(type, member) \
	{ #member, offsetof(type, member), sizeof(((type *)0)->member) }

static const struct field page_fields[] = {
	FIELD(struct folio, flags), FIELD(struct folio, lru),
	FIELD(struct folio, mapping), FIELD(struct folio, index),
	FIELD(struct folio, private), FIELD(struct folio, _mapcount),
	FIELD(struct folio, _refcount), FIELD(struct folio, _pincount),
	FIELD(struct folio, order), FIELD(struct folio, migratetype),
	{ NULL, 0, 0 }
};

static const struct field mm_fields[] = {
	FIELD(struct mm_struct, machine), FIELD(struct mm_struct, mmap_lock),
	FIELD(struct mm_struct, mm_rb), FIELD(struct mm_struct, mmap_cache),
	FIELD(struct mm_struct, map_count), FIELD(struct mm_struct, pgd),
	FIELD(struct mm_struct, page_table_lock),
	FIELD(struct mm_struct, flags),
	FIELD(struct mm_struct, write_protect_seq),
	FIELD(struct mm_struct, rss_pages), FIELD(struct mm_struct, pgtables),
	{ NULL, 0, 0 }
};

static const struct field area_fields[] = {
	FIELD(struct vm_area_struct, vm_rb),
	FIELD(struct vm_area_struct, vm_start),
	FIELD(struct vm_area_struct, vm_end),
	FIELD(struct vm_area_struct, vm_flags),
	FIELD(struct vm_area_struct, vm_page_prot),
	FIELD(struct vm_area_struct, vm_pgoff),
	FIELD(struct vm_area_struct, anon_vma),
	{ NULL, 0, 0 }
};

static const struct field machine_fields[] = {
	FIELD(struct machine, zones), FIELD(struct machine, hstates),
	FIELD(struct machine, hugetlb_fault),
	FIELD(struct machine, huge_zero_folio),
	FIELD(struct machine, folio_wait), FIELD(struct machine, next_cpu),
	FIELD(struct machine, lock), FIELD(struct machine, mm_list),
	FIELD(struct machine, cpus), { NULL, 0, 0 }
};

static const struct field race_fields[] = {
	FIELD(struct race, hold), FIELD(struct race, note), { NULL, 0, 0 }
};

static const struct machine *machine;
static const struct race *race;

void object_watch(const struct machine *m)
{
	machine = m;
}

void object_race(const struct race *r)
{
	race = r;
}

bool object_is_quiet(const void *addr)
{
	size_t at = (const char *)addr - (const char *)race;

	return at >= offsetof(struct race, task_lock) && at < sizeof(*race);
}

static const char *field_name(const struct field *f, size_t offset)
{
	for (; f->name; f++)
		if (offset >= f->offset && offset < f->offset + f->bytes)
			return f->name;
	return "?";
}

static bool is_table(pf_pfn_t pfn)
{
	return test_bit(PG_table, &machine_page((struct machine *)machine, pfn)->flags);
}

static void describe_page(size_t at, char *text, size_t room)
{
	pf_pfn_t pfn = at / sizeof(struct page);

	if (is_table(pfn))
		snprintf(text, room, "%s of table %" PRIu64,
			 at % sizeof(struct page) ==
			 offsetof(struct page, ptl) ? "lock" : "count", pfn);
	else
		snprintf(text, room, "page %" PRIu64 " %s", pfn,
			 field_name(page_fields, at % sizeof(struct page)));
}

static void describe_frame(size_t at, char *text, size_t room)
{
	pf_pfn_t pfn = at >> PAGE_SHIFT;

	if (is_table(pfn))
		snprintf(text, room, "table %" PRIu64 "[%zu]", pfn,
			 at % PAGE_SIZE / sizeof(pte_t));
	else
		snprintf(text, room, "bytes of page %" PRIu64 " + %zu", pfn,
			 (size_t)(at % PAGE_SIZE));
}

static void describe_machine(size_t at, char *text, size_t room)
{
	size_t cpus = offsetof(struct machine, cpus);
	size_t zones = offsetof(struct machine, zones);

	if (at >= cpus)
		snprintf(text, room, "cpu %zu%s",
			 (at - cpus) / sizeof(struct cpu_slot),
			 (at - cpus) % sizeof(struct cpu_slot) ?
			 " lists" : " lock");
	else if (at - zones < sizeof(machine->zones))
		snprintf(text, room, "zone %zu%s",
			 (at - zones) / sizeof(struct zone),
			 (at - zones) % sizeof(struct zone) ? "" : " lock");
	else
		snprintf(text, room, "machine %s",
			 field_name(machine_fields, at));
}

static bool describe_object(const void *addr, char *text, size_t room)
{
	size_t offset, bytes = heap_object(addr, &offset);

	if (bytes == sizeof(struct mm_struct))
		snprintf(text, room, "mm %s", field_name(mm_fields, offset));
	else if (bytes == sizeof(struct vm_area_struct))
		snprintf(text, room, "area %s",
			 field_name(area_fields, offset));
	else if (bytes)
		snprintf(text, room, "object of %zu bytes + %zu", bytes,
			 offset);
	return bytes;
}

void object_describe(const void *addr, char *text, size_t room)
{
	size_t at;

	if (machine) {
		at = (const char *)addr - (const char *)machine;
		if (at < sizeof(*machine)) {
			describe_machine(at, text, room);
			return;
		}
		if (at < machine->memmap_bytes) {
			describe_page(at, text, room);
			return;
		}
		at = (const char *)addr - machine->arena;
		if (at < machine->arena_bytes) {
			describe_frame(at, text, room);
			return;
		}
	}
	at = (const char *)addr - (const char *)race;
	if (at < sizeof(*race))
		snprintf(text, room, "race %s + %zu",
			 field_name(race_fields, at), at);
	else if (!describe_object(addr, text, room))
		snprintf(text, room, "%p", addr);
}

void object_value(u64 value, char *text, size_t room)
{
	/* Low bits of pointers are flags. */
	const void *addr = (const void *)(uintptr_t)(value & ~(u64)7);
	size_t offset;
	char name[48];

	if (machine &&
	    ((size_t)((const char *)addr - (const char *)machine) <
	     machine->memmap_bytes ||
	     (size_t)((const char *)addr - machine->arena) <
	     machine->arena_bytes || heap_object(addr, &offset))) {
		object_describe(addr, name, sizeof(name));
		snprintf(text, room, "&%s", name);
	} else {
		snprintf(text, room, "%#" PRIx64, value);
	}
}
