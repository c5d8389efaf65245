/* SPDX-License-Identifier: MIT */
/*
 * A fibre is entered once, through makecontext(); from then on _setjmp() and
 * _longjmp() switch, which unlike swapcontext() make no system call.
 */
#define _GNU_SOURCE
/* It would take a jump to another stack for a jump into a frame that is gone. */
#undef _FORTIFY_SOURCE
#include "host/fibre.h"

#include "host/bug.h"

#include <link.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES	((size_t)256 << 10)
#define GUARD_BYTES	((size_t)4096)

struct fibre {
	jmp_buf where;		/* to go on */
	jmp_buf top;		/* to start anew */
	char *stack;		/* NULL: the thread's own */
	char *tls;		/* variables while it does not run */
	void (*fn)(void *);
	void *arg;
};

struct tls_block {
	char *start;
	size_t bytes;
	const char *image;	/* initial values of the first ... */
	size_t image_bytes;
};

static struct tls_block tls;
static ucontext_t creator;
static struct fibre *entering;

/* The first object that is listed is the program. */
static int find_tls(struct dl_phdr_info *info, size_t size __maybe_unused,
		    void *data)
{
	struct tls_block *t = data;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_TLS)
			continue;
		t->start = info->dlpi_tls_data;
		t->bytes = t->start ? p->p_memsz : 0;
		t->image = (const char *)info->dlpi_addr + p->p_vaddr;
		t->image_bytes = p->p_filesz;
	}
	return 1;
}

char *fibre_tls(size_t *bytes)
{
	if (!tls.start)
		dl_iterate_phdr(find_tls, &tls);
	*bytes = tls.bytes;
	return tls.start;
}

static void reset_tls(struct fibre *f)
{
	memcpy(f->tls, tls.image, tls.image_bytes);
	memset(f->tls + tls.image_bytes, 0, tls.bytes - tls.image_bytes);
}

static void fibre_main(void)
{
	struct fibre *f = entering;

	if (!_setjmp(f->top)) {
		setcontext(&creator);
		BUG();
	}
	/* Registers are those of the first time; so is this frame. */
	f = entering;
	f->fn(f->arg);
	BUG();
}

struct fibre *fibre_create(void (*fn)(void *), void *arg)
{
	struct fibre *f = calloc(1, sizeof(*f));
	size_t bytes;
	ucontext_t context;

	fibre_tls(&bytes);
	if (f)
		f->tls = calloc(1, bytes + 1);
	if (!f || !f->tls || !fn)
		return f;
	f->fn = fn;
	f->arg = arg;
	f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	BUG_ON(f->stack == MAP_FAILED);
	mprotect(f->stack, GUARD_BYTES, PROT_NONE);
	getcontext(&context);
	context.uc_stack.ss_sp = f->stack;
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	makecontext(&context, fibre_main, 0);
	entering = f;
	swapcontext(&creator, &context);
	fibre_reset(f);
	return f;
}

void fibre_reset(struct fibre *f)
{
	memcpy(&f->where, &f->top, sizeof(f->where));
	reset_tls(f);
}

void fibre_switch(struct fibre *from, struct fibre *to)
{
	memcpy(from->tls, tls.start, tls.bytes);
	memcpy(tls.start, to->tls, tls.bytes);
	entering = to;
	if (!_setjmp(from->where))
		_longjmp(to->where, 1);
}

void fibre_save(struct fibre *f)
{
	memcpy(f->tls, tls.start, tls.bytes);
}

void fibre_restore(struct fibre *f)
{
	memcpy(tls.start, f->tls, tls.bytes);
}

int64_t fibre_stack_offset(const struct fibre *f, const void *addr)
{
	u64 offset = (uintptr_t)addr - (uintptr_t)f->stack;

	return f->stack && offset < STACK_BYTES ? (int64_t)offset : -1;
}
