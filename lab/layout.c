/* SPDX-License-Identifier: MIT */
/*
 * Layouts as files: JSON Lines, a header and one VMA a line.
 *
 * The reader trusts nothing: it checks every invariant of lab/layout.h, and
 * each refusal names file, line and value.  Lines are parsed one by one, so
 * that a long file costs the memory of its longest line.
 */
#include "lab/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *path;
	FILE *file;
	u64 line_nr;
	char *line;
	size_t line_bytes;	/* without newline */
	size_t line_cap;
	bool newline;		/* the line ended in one */
	struct layout *l;
	size_t nr_vmas;		/* as the header claims */
	u64 nr_runs, nr_resident;
	char shown[48];		/* see show() */
	struct layout_error *why;
};

static const char *const header_keys[] = {
	"pinfold_layout", "source", "page_size", "orders_known", "nr_vmas",
};
static const char *const vma_keys[] = {
	"start", "end", "perms", "file", "name", "runs",
};

void layout_set_text(char *dst, size_t bytes, const char *src)
{
	size_t i;

	for (i = 0; i + 1 < bytes && src[i]; i++)
		dst[i] = src[i] >= ' ' && src[i] <= '~' ? src[i] : '?';
	dst[i] = '\0';
}

static int __printf(3, 4) bad(struct reader *r, int err, const char *fmt, ...)
{
	char text[sizeof(r->why->text)];
	size_t used;
	va_list ap;

	used = (size_t)snprintf(text, sizeof(text), "%.200s:%" PRIu64 ": ",
				r->path, r->line_nr);
	va_start(ap, fmt);
	vsnprintf(text + used, sizeof(text) - used, fmt, ap);
	va_end(ap);
	layout_set_text(r->why->text, sizeof(r->why->text), text);
	return err;
}

/* On the first line the question is whether this is a layout at all. */
static const char *prefix(const struct reader *r)
{
	return r->line_nr == 1 ? "not a pinfold layout: " : "";
}

/* show() - a value in at most 40 characters, for a message */
static const char *show(struct reader *r, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
				JSON_ENSURE_ASCII);

	if (!text)
		return "?";
	if (strlen(text) <= 40)
		snprintf(r->shown, sizeof(r->shown), "%s", text);
	else
		snprintf(r->shown, sizeof(r->shown), "%.37s...", text);
	free(text);
	return r->shown;
}

static int grow_line(struct reader *r)
{
	size_t cap = r->line_cap ? r->line_cap * 2 : 4096;
	char *line = realloc(r->line, cap);

	if (!line)
		return bad(r, -ENOMEM, "out of memory");
	r->line = line;
	r->line_cap = cap;
	return 0;
}

/* Return: 1, 0 at the end of the file, or a negative errno. */
static int next_line(struct reader *r)
{
	int c, ret;

	r->line_nr++;
	r->line_bytes = 0;
	r->newline = false;
	errno = 0;
	while ((c = getc_unlocked(r->file)) != EOF) {
		if (c == '\n') {
			r->newline = true;
			return 1;
		}
		if (c == '\0')
			return bad(r, -EINVAL, "%sa NUL byte", prefix(r));
		if (r->line_bytes == LAYOUT_MAX_LINE_BYTES)
			return bad(r, -E2BIG, "line longer than %zu bytes",
				   LAYOUT_MAX_LINE_BYTES);
		if (r->line_bytes == r->line_cap) {
			ret = grow_line(r);
			if (ret)
				return ret;
		}
		r->line[r->line_bytes++] = (char)c;
	}
	if (ferror(r->file))
		return bad(r, errno ? -errno : -EIO, "%s",
			   strerror(errno ? errno : EIO));
	return r->line_bytes > 0;
}

/* The line as a JSON object, or NULL with the error in *@ret. */
static json_t *parse_line(struct reader *r, int *ret)
{
	json_error_t error;
	json_t *obj;

	*ret = -EINVAL;
	if (!r->line_bytes) {
		bad(r, *ret, "%sempty line", prefix(r));
		return NULL;
	}
	obj = json_loadb(r->line, r->line_bytes, JSON_REJECT_DUPLICATES |
			 JSON_DECODE_ANY, &error);
	if (!obj && !r->newline && r->line_nr > 1) {
		bad(r, *ret, "truncated: the file ends inside this line");
		return NULL;
	}
	if (!obj) {
		bad(r, *ret, "%snot JSON, column %d: %s", prefix(r),
		    error.column, error.text);
		return NULL;
	}
	if (!json_is_object(obj)) {
		bad(r, *ret, "%s%s is not a JSON object", prefix(r),
		    show(r, obj));
		json_decref(obj);
		return NULL;
	}
	return obj;
}

/* Exactly the @nr keys of @keys, no other, none missing. */
static int check_keys(struct reader *r, json_t *obj, const char *const *keys,
		      size_t nr)
{
	const char *key;
	json_t *value;

	for (size_t i = 0; i < nr; i++)
		if (!json_object_get(obj, keys[i]))
			return bad(r, -EINVAL, "\"%s\" is missing", keys[i]);
	json_object_foreach(obj, key, value) {
		size_t i = 0;

		while (i < nr && strcmp(key, keys[i]))
			i++;
		if (i == nr)
			return bad(r, -EINVAL, "unknown key \"%.40s\"", key);
	}
	return 0;
}

static int get_int(struct reader *r, json_t *obj, const char *key,
		   int64_t *out)
{
	json_t *value = json_object_get(obj, key);

	if (!json_is_integer(value))
		return bad(r, -EINVAL, "\"%s\" is %s, not an integer", key,
			   show(r, value));
	*out = json_integer_value(value);
	return 0;
}

static int get_bool(struct reader *r, json_t *obj, const char *key, bool *out)
{
	json_t *value = json_object_get(obj, key);

	if (!json_is_boolean(value))
		return bad(r, -EINVAL, "\"%s\" is %s, not true or false", key,
			   show(r, value));
	*out = json_is_true(value);
	return 0;
}

static int get_text(struct reader *r, json_t *obj, const char *key, char *out,
		    size_t bytes)
{
	json_t *value = json_object_get(obj, key);

	if (!json_is_string(value))
		return bad(r, -EINVAL, "\"%s\" is %s, not a string", key,
			   show(r, value));
	if (json_string_length(value) >= bytes)
		return bad(r, -EINVAL, "\"%s\" is %s, longer than %zu bytes",
			   key, show(r, value), bytes - 1);
	layout_set_text(out, bytes, json_string_value(value));
	return 0;
}

/* Addresses are strings, "0x" and lower- or upper-case hex digits. */
static int get_address(struct reader *r, json_t *obj, const char *key,
		       pf_addr_t *out)
{
	json_t *value = json_object_get(obj, key);
	const char *text = json_string_value(value);
	size_t digits = 0;

	if (text && text[0] == '0' && text[1] == 'x')
		digits = strspn(text + 2, "0123456789abcdefABCDEF");
	if (!digits || digits > 16 || text[2 + digits])
		return bad(r, -EINVAL, "\"%s\" is %s, not an address \"0x...\"",
			   key, show(r, value));
	*out = strtoull(text, NULL, 16);
	if (*out > LAYOUT_MAX_ADDRESS)
		return bad(r, -EINVAL, "\"%s\" is %s, beyond 2^47", key,
			   show(r, value));
	if (!IS_ALIGNED(*out, LAYOUT_PAGE_BYTES))
		return bad(r, -EINVAL, "\"%s\" is %s, not page-aligned", key,
			   show(r, value));
	return 0;
}

static int get_perms(struct reader *r, json_t *obj, struct layout_vma *vma)
{
	json_t *value = json_object_get(obj, "perms");
	const char *p = json_string_value(value);

	if (!p || strlen(p) != 4 || !strchr("r-", p[0]) ||
	    !strchr("w-", p[1]) || !strchr("x-", p[2]) || !strchr("ps", p[3]))
		return bad(r, -EINVAL, "\"perms\" is %s, not like \"rw-p\"",
			   show(r, value));
	vma->read = p[0] == 'r';
	vma->write = p[1] == 'w';
	vma->exec = p[2] == 'x';
	vma->shared = p[3] == 's';
	return 0;
}

static int read_header(struct reader *r, json_t *obj)
{
	int64_t version = 0, page_bytes = 0, nr = 0;
	int ret;

	if (!json_object_get(obj, "pinfold_layout"))
		return bad(r, -EINVAL,
			   "not a pinfold layout: no \"pinfold_layout\"");
	ret = get_int(r, obj, "pinfold_layout", &version);
	if (ret)
		return ret;
	if (version != LAYOUT_VERSION)
		return bad(r, -EINVAL,
			   "layout version %" PRId64 ", supported is %d",
			   version, LAYOUT_VERSION);
	ret = check_keys(r, obj, header_keys, ARRAY_SIZE(header_keys));
	if (!ret)
		ret = get_text(r, obj, "source", r->l->source,
			       sizeof(r->l->source));
	if (!ret)
		ret = get_int(r, obj, "page_size", &page_bytes);
	if (!ret)
		ret = get_bool(r, obj, "orders_known", &r->l->orders_known);
	if (!ret)
		ret = get_int(r, obj, "nr_vmas", &nr);
	if (ret)
		return ret;
	if (page_bytes != LAYOUT_PAGE_BYTES)
		return bad(r, -EINVAL, "page size %" PRId64
			   ", supported is %d", page_bytes, LAYOUT_PAGE_BYTES);
	if (nr < 1)
		return bad(r, -EINVAL, "\"nr_vmas\" is %" PRId64
			   ", at least 1 is needed", nr);
	if (nr > LAYOUT_MAX_VMAS)
		return bad(r, -E2BIG, "%" PRId64 " VMAs, at most %d are taken",
			   nr, LAYOUT_MAX_VMAS);
	r->nr_vmas = (size_t)nr;
	return 0;
}

/* One run: [pages, order or null, 1 if resident else 0]. */
static int read_run(struct reader *r, const json_t *value,
		    struct layout_run *run)
{
	const json_t *pages = json_array_get(value, 0);
	const json_t *order = json_array_get(value, 1);
	const json_t *resident = json_array_get(value, 2);
	int64_t in = json_integer_value(resident);

	if (json_array_size(value) != 3 || !json_is_integer(pages) ||
	    !json_is_integer(resident) ||
	    !(json_is_integer(order) || json_is_null(order)))
		return bad(r, -EINVAL,
			   "run %s is not [pages, order or null, 0 or 1]",
			   show(r, value));
	if (json_integer_value(pages) < 1)
		return bad(r, -EINVAL, "run %s has no pages", show(r, value));
	if (in != 0 && in != 1)
		return bad(r, -EINVAL, "run %s: resident is %" PRId64
			   ", not 0 or 1", show(r, value), in);
	run->nr_pages = (u64)json_integer_value(pages);
	run->resident = in;
	run->order = LAYOUT_ORDER_UNKNOWN;
	if (json_is_null(order)) {
		if (in && r->l->orders_known)
			return bad(r, -EINVAL,
				   "run %s: order null, yet \"orders_known\"",
				   show(r, value));
		return 0;
	}
	if (!in)
		return bad(r, -EINVAL, "run %s: an order, yet not resident",
			   show(r, value));
	if (json_integer_value(order) < 0 ||
	    json_integer_value(order) > LAYOUT_MAX_ORDER)
		return bad(r, -EINVAL, "run %s: order %" PRId64
			   ", not 0 to %d", show(r, value),
			   (int64_t)json_integer_value(order),
			   LAYOUT_MAX_ORDER);
	run->order = (int8_t)json_integer_value(order);
	return 0;
}

static int count_run(struct reader *r, const struct layout_run *run)
{
	if (++r->nr_runs > LAYOUT_MAX_RUNS)
		return bad(r, -E2BIG, "run %" PRIu64 ", at most %" PRIu64
			   " are taken", r->nr_runs, LAYOUT_MAX_RUNS);
	if (run->resident)
		r->nr_resident += run->nr_pages;
	if (r->nr_resident > LAYOUT_MAX_RESIDENT)
		return bad(r, -E2BIG, "%" PRIu64
			   " resident pages, at most %" PRIu64 " are taken",
			   r->nr_resident, LAYOUT_MAX_RESIDENT);
	return 0;
}

static int read_runs(struct reader *r, json_t *obj, struct layout_vma *vma)
{
	const u64 nr_pages = (vma->end - vma->start) / LAYOUT_PAGE_BYTES;
	json_t *runs = json_object_get(obj, "runs");
	size_t nr = json_array_size(runs);
	u64 covered = 0;
	int ret;

	if (!json_is_array(runs))
		return bad(r, -EINVAL, "\"runs\" is %s, not an array",
			   show(r, runs));
	if (nr > LAYOUT_MAX_VMA_RUNS)
		return bad(r, -E2BIG, "%zu runs in one VMA, at most %" PRIu64
			   " are taken", nr, LAYOUT_MAX_VMA_RUNS);
	vma->runs = calloc(nr ? nr : 1, sizeof(*vma->runs));
	if (!vma->runs)
		return bad(r, -ENOMEM, "out of memory");
	for (vma->nr_runs = 0; vma->nr_runs < nr; vma->nr_runs++) {
		struct layout_run *run = &vma->runs[vma->nr_runs];

		ret = read_run(r, json_array_get(runs, vma->nr_runs), run);
		if (ret)
			return ret;
		if (run->nr_pages > nr_pages - covered)
			return bad(r, -EINVAL, "runs cover more than the %"
				   PRIu64 " pages of the VMA, from run %s on",
				   nr_pages,
				   show(r, json_array_get(runs, vma->nr_runs)));
		covered += run->nr_pages;
		ret = count_run(r, run);
		if (ret)
			return ret;
	}
	if (covered != nr_pages)
		return bad(r, -EINVAL, "runs cover %" PRIu64 " of the %" PRIu64
			   " pages of the VMA", covered, nr_pages);
	return 0;
}

/* The VMA's place among those before it. */
static int check_range(struct reader *r, const struct layout_vma *vma)
{
	const struct layout_vma *prev = vma - 1;

	if (vma->start >= vma->end)
		return bad(r, -EINVAL, "VMA 0x%" PRIx64 "-0x%" PRIx64
			   " ends before it begins or is empty", vma->start,
			   vma->end);
	if (vma > r->l->vmas && vma->start < prev->end)
		return bad(r, -EINVAL, "VMA 0x%" PRIx64 "-0x%" PRIx64 " %s 0x%"
			   PRIx64 "-0x%" PRIx64 " of the line above",
			   vma->start, vma->end, vma->end > prev->start ?
			   "overlaps" : "is unsorted: it lies below",
			   prev->start, prev->end);
	return 0;
}

static int read_vma(struct reader *r, json_t *obj, struct layout_vma *vma)
{
	int ret;

	ret = check_keys(r, obj, vma_keys, ARRAY_SIZE(vma_keys));
	if (!ret)
		ret = get_address(r, obj, "start", &vma->start);
	if (!ret)
		ret = get_address(r, obj, "end", &vma->end);
	if (!ret)
		ret = check_range(r, vma);
	if (!ret)
		ret = get_perms(r, obj, vma);
	if (!ret)
		ret = get_bool(r, obj, "file", &vma->file);
	if (!ret)
		ret = get_text(r, obj, "name", vma->name, sizeof(vma->name));
	if (!ret)
		ret = read_runs(r, obj, vma);
	return ret;
}

static int read_vmas(struct reader *r)
{
	json_t *obj;
	int ret;

	r->l->vmas = calloc(r->nr_vmas, sizeof(*r->l->vmas));
	if (!r->l->vmas)
		return bad(r, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nr_vmas; i++) {
		ret = next_line(r);
		if (ret == 0)
			return bad(r, -EINVAL,
				   "truncated: the header has %zu VMAs, "
				   "the file %zu", r->nr_vmas, i);
		if (ret < 0)
			return ret;
		obj = parse_line(r, &ret);
		if (!obj)
			return ret;
		r->l->nr_vmas++;
		ret = read_vma(r, obj, &r->l->vmas[i]);
		json_decref(obj);
		if (ret)
			return ret;
	}
	ret = next_line(r);
	if (ret > 0)
		return bad(r, -EINVAL, "a line after the last of %zu VMAs",
			   r->nr_vmas);
	return ret;
}

static int read_all(struct reader *r)
{
	json_t *obj;
	int ret;

	ret = next_line(r);
	if (ret < 0)
		return ret;
	if (ret == 0)
		return bad(r, -EINVAL, "not a pinfold layout: the file is "
			   "empty");
	obj = parse_line(r, &ret);
	if (!obj)
		return ret;
	ret = read_header(r, obj);
	json_decref(obj);
	return ret ? ret : read_vmas(r);
}

int layout_read(const char *path, struct layout **out,
		struct layout_error *why)
{
	struct reader r = { .path = path, .why = why };
	int ret;

	r.file = fopen(path, "re");
	if (!r.file) {
		ret = -errno;
		snprintf(why->text, sizeof(why->text), "%.200s: %s", path,
			 strerror(errno));
		return ret;
	}
	r.l = calloc(1, sizeof(*r.l));
	ret = r.l ? read_all(&r) : bad(&r, -ENOMEM, "out of memory");
	fclose(r.file);
	free(r.line);
	if (ret) {
		layout_free(r.l);
		return ret;
	}
	*out = r.l;
	return 0;
}

/* Takes the reference to @obj. */
static int dump_line(json_t *obj, FILE *out)
{
	int ret = 0;

	if (!obj)
		return -ENOMEM;
	errno = 0;
	if (json_dumpf(obj, out, JSON_COMPACT) || putc('\n', out) == EOF)
		ret = errno ? -errno : -EIO;
	json_decref(obj);
	return ret;
}

static json_t *pack_runs(const struct layout_vma *vma)
{
	json_t *runs = json_array();

	for (size_t i = 0; runs && i < vma->nr_runs; i++) {
		const struct layout_run *run = &vma->runs[i];
		json_t *order = run->order == LAYOUT_ORDER_UNKNOWN ?
				json_null() : json_integer(run->order);
		json_t *item = json_pack("[Ioi]", (json_int_t)run->nr_pages,
					 order, (int)run->resident);

		if (!item || json_array_append_new(runs, item)) {
			json_decref(runs);
			return NULL;
		}
	}
	return runs;
}

static json_t *pack_vma(const struct layout_vma *vma)
{
	json_t *runs = pack_runs(vma);
	char start[24], end[24], perms[5];

	if (!runs)
		return NULL;
	snprintf(start, sizeof(start), "0x%" PRIx64, vma->start);
	snprintf(end, sizeof(end), "0x%" PRIx64, vma->end);
	snprintf(perms, sizeof(perms), "%c%c%c%c", vma->read ? 'r' : '-',
		 vma->write ? 'w' : '-', vma->exec ? 'x' : '-',
		 vma->shared ? 's' : 'p');
	return json_pack("{ss ss ss sb ss so}", "start", start, "end", end,
			 "perms", perms, "file", (int)vma->file, "name",
			 vma->name, "runs", runs);
}

int layout_write(const struct layout *l, FILE *out)
{
	int ret;

	ret = dump_line(json_pack("{si ss si sb sI}",
				  "pinfold_layout", LAYOUT_VERSION,
				  "source", l->source,
				  "page_size", LAYOUT_PAGE_BYTES,
				  "orders_known", (int)l->orders_known,
				  "nr_vmas", (json_int_t)l->nr_vmas), out);
	for (size_t i = 0; !ret && i < l->nr_vmas; i++)
		ret = dump_line(pack_vma(&l->vmas[i]), out);
	return ret;
}

void layout_free(struct layout *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nr_vmas; i++)
		free(l->vmas[i].runs);
	free(l->vmas);
	free(l);
}

static u64 count_pages(const struct layout *l, bool only_unknown)
{
	u64 nr = 0;

	for (size_t i = 0; i < l->nr_vmas; i++) {
		const struct layout_vma *vma = &l->vmas[i];

		for (size_t j = 0; j < vma->nr_runs; j++) {
			const struct layout_run *run = &vma->runs[j];

			if (!run->resident)
				continue;
			if (!only_unknown || run->order == LAYOUT_ORDER_UNKNOWN)
				nr += run->nr_pages;
		}
	}
	return nr;
}

u64 layout_resident_pages(const struct layout *l)
{
	return count_pages(l, false);
}

u64 layout_unknown_pages(const struct layout *l)
{
	return count_pages(l, true);
}

void layout_drop_names(struct layout *l)
{
	static const char *const kept[] = {
		"[heap]", "[stack]", "[vdso]", "[vvar",
	};

	layout_set_text(l->source, sizeof(l->source), "process");
	for (size_t i = 0; i < l->nr_vmas; i++) {
		char *name = l->vmas[i].name;
		size_t k = 0;

		while (k < ARRAY_SIZE(kept) &&
		       strncmp(name, kept[k], strlen(kept[k])))
			k++;
		if (k == ARRAY_SIZE(kept))
			name[0] = '\0';
	}
}
