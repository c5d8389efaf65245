/* SPDX-License-Identifier: MIT */
/*
 * Threads of both back-ends: pthreads.
 */
#include "host/backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct backend_thread {
	pthread_t pthread;
	void (*fn)(void *);
	void *arg;
};

static void *thread_main(void *data)
{
	struct backend_thread *t = data;

	t->fn(t->arg);
	return NULL;
}

int backend_thread_create(struct backend_thread **thread, void (*fn)(void *),
			  void *arg)
{
	struct backend_thread *t = malloc(sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->fn = fn;
	t->arg = arg;
	err = pthread_create(&t->pthread, NULL, thread_main, t);
	if (err) {
		free(t);
		return -err;
	}
	*thread = t;
	return 0;
}

void backend_thread_join(struct backend_thread *t)
{
	pthread_join(t->pthread, NULL);
	free(t);
}
