/* SPDX-License-Identifier: MIT */
/*
 * `pinfold restore`: the slots of a snapshot, from the file or a manifest.
 */
#include "cli/restore.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "host/image.h"

#define MAX_SLOTS	4096

void plan_free(struct plan *plan)
{
	free(plan->slots);
	plan->slots = NULL;
}

/* ---- the manifest ---------------------------------------------------- */

/* A member that is a number of whole pages. */
static int read_number(const struct restore *r, const json_t *slot,
		       unsigned int i, const char *key, bool required, u64 *out)
{
	const json_t *j = json_object_get(slot, key);

	if (!j && !required)
		return EXIT_OK;
	if (!j)
		return failed(RESTORE, "%s: slot %u has no \"%s\"",
			      r->manifest, i, key);
	if (!json_is_integer(j) || json_integer_value(j) < 0)
		return failed(RESTORE, "%s: slot %u: \"%s\" is no number of "
			      "bytes", r->manifest, i, key);
	*out = (u64)json_integer_value(j);
	if (*out % PINFOLD_PAGE_SIZE)
		return failed(RESTORE, "%s: slot %u: \"%s\" %" PRIu64
			      " is no multiple of 4096", r->manifest, i, key,
			      *out);
	return EXIT_OK;
}

static int read_slot(const struct restore *r, const json_t *j, unsigned int i,
		     struct slot *slot)
{
	static const char *const known[] = { "name", "file_offset",
					     "guest_offset", "size" };
	const json_t *name = json_object_get(j, "name");
	const char *key;
	json_t *value;
	int err;

	if (!json_is_object(j))
		return failed(RESTORE, "%s: slot %u is no object", r->manifest,
			      i);
	json_object_foreach((json_t *)j, key, value) {
		unsigned int k;

		for (k = 0; k < ARRAY_SIZE(known); k++)
			if (!strcmp(key, known[k]))
				break;
		if (k == ARRAY_SIZE(known))
			return failed(RESTORE, "%s: slot %u: unknown member "
				      "\"%s\"", r->manifest, i, key);
	}
	if (name && !json_is_string(name))
		return failed(RESTORE, "%s: slot %u: \"name\" is no string",
			      r->manifest, i);
	snprintf(slot->name, sizeof(slot->name), "%s",
		 name ? json_string_value(name) : "");
	err = read_number(r, j, i, "file_offset", true, &slot->file_offset);
	if (!err)
		err = read_number(r, j, i, "size", true, &slot->size);
	slot->guest_offset = slot->file_offset;
	if (!err)
		err = read_number(r, j, i, "guest_offset", false,
				  &slot->guest_offset);
	if (err)
		return err;
	if (!slot->size)
		return failed(RESTORE, "%s: slot %u is empty", r->manifest, i);
	if (slot->file_offset > r->file_bytes ||
	    slot->size > r->file_bytes - slot->file_offset)
		return failed(RESTORE, "%s: slot %u: bytes %" PRIu64 " to %"
			      PRIu64 " are beyond the end of %s, %" PRIu64,
			      r->manifest, i, slot->file_offset,
			      slot->file_offset + slot->size, r->path,
			      r->file_bytes);
	if (slot->guest_offset > (u64)INT64_MAX - slot->size)
		return failed(RESTORE, "%s: slot %u: \"guest_offset\" %" PRIu64
			      " is too large", r->manifest, i,
			      slot->guest_offset);
	return EXIT_OK;
}

static int by_guest(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->guest_offset > y->guest_offset) -
	       (x->guest_offset < y->guest_offset);
}

static int by_file(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->file_offset > y->file_offset) -
	       (x->file_offset < y->file_offset);
}

/* Neither in the file nor in the guest; ordered by guest in the end. */
static int check_overlaps(const struct restore *r, const struct plan *plan)
{
	struct slot *s = plan->slots;

	qsort(s, plan->nr_slots, sizeof(*s), by_file);
	for (unsigned int i = 1; i < plan->nr_slots; i++)
		if (s[i].file_offset < s[i - 1].file_offset + s[i - 1].size)
			return failed(RESTORE, "%s: two slots have byte %"
				      PRIu64 " of the file", r->manifest,
				      s[i].file_offset);
	qsort(s, plan->nr_slots, sizeof(*s), by_guest);
	for (unsigned int i = 1; i < plan->nr_slots; i++)
		if (s[i].guest_offset < s[i - 1].guest_offset + s[i - 1].size)
			return failed(RESTORE, "%s: two slots have byte %"
				      PRIu64 " of guest memory", r->manifest,
				      s[i].guest_offset);
	return EXIT_OK;
}

static int read_slots(struct restore *r, const json_t *root)
{
	const json_t *list = json_object_get(root, "slots");
	struct plan *plan = &r->plan;
	size_t nr = json_array_size(list);
	int err = EXIT_OK;

	if (!json_is_array(list) || !nr || nr > MAX_SLOTS)
		return failed(RESTORE, "%s: \"slots\" is no list of 1 to %d "
			      "slots", r->manifest, MAX_SLOTS);
	plan->slots = calloc(nr, sizeof(*plan->slots));
	if (!plan->slots)
		return failed(RESTORE, "no memory");
	plan->nr_slots = (unsigned int)nr;
	for (unsigned int i = 0; i < nr && !err; i++)
		err = read_slot(r, json_array_get(list, i), i, &plan->slots[i]);
	return err ? err : check_overlaps(r, plan);
}

static int read_manifest(struct restore *r)
{
	json_error_t why;
	json_t *root = json_load_file(r->manifest, JSON_REJECT_DUPLICATES,
				      &why);
	int err;

	if (!root && why.line < 0)
		return failed(RESTORE, "%s: cannot be read", r->manifest);
	if (!root)
		return failed(RESTORE, "%s: line %d: %s", r->manifest, why.line,
			      why.text);
	err = read_slots(r, root);
	json_decref(root);
	return err;
}

/* ---- the whole file -------------------------------------------------- */

static int whole_file(struct restore *r)
{
	if (r->file_bytes % PINFOLD_PAGE_SIZE)
		return failed(RESTORE, "%s: %" PRIu64 " bytes are no multiple "
			      "of 4096", r->path, r->file_bytes);
	r->plan.slots = calloc(1, sizeof(*r->plan.slots));
	if (!r->plan.slots)
		return failed(RESTORE, "no memory");
	r->plan.slots[0].size = r->file_bytes;
	r->plan.nr_slots = 1;
	return EXIT_OK;
}

/* What is there takes memory, in whole pages. */
static u64 data_in(const struct image *image, const struct slot *slot)
{
	const u64 page = PINFOLD_PAGE_SIZE, end = slot->file_offset + slot->size;
	u64 at = slot->file_offset, bytes = 0;

	while (at < end) {
		u64 data = ALIGN_DOWN(image_next_data(image, at, end), page);

		at = ALIGN(image_next_hole(image, data, end), page);
		bytes += at - data;
	}
	return bytes;
}

int plan_make(struct restore *r)
{
	struct plan *plan = &r->plan;
	struct image image;
	int err = image_open(&image, r->fd);

	if (err)
		return failed(RESTORE, "%s: %s", r->path, err == -ESPIPE ?
			      "not a regular file" : strerror(-err));
	r->file_bytes = image.size;
	if (!image.size)
		return failed(RESTORE, "%s: the file is empty", r->path);
	err = r->manifest ? read_manifest(r) : whole_file(r);
	for (unsigned int i = 0; i < plan->nr_slots && !err; i++) {
		const struct slot *slot = &plan->slots[i];

		plan->bytes += slot->size;
		plan->data_bytes += data_in(&image, slot);
		plan->guest_bytes = slot->guest_offset + slot->size;
	}
	return err;
}
