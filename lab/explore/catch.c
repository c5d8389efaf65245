/* SPDX-License-Identifier: MIT */
#include "lab/explore/catch.h"

#include "host/compiler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sigjmp_buf catch_env;

static char text[4096];
static FILE *own_stderr, *capture;
static void (*crashed_hook)(const char *what);

void catch_start(void)
{
	if (!capture)
		capture = fmemopen(text, sizeof(text), "w");
	text[0] = '\0';
	if (!capture)
		return;
	rewind(capture);
	own_stderr = stderr;
	stderr = capture;
}

void catch_end(void)
{
	if (own_stderr)
		stderr = own_stderr;
	own_stderr = NULL;
}

const char *catch_text(void)
{
	if (capture)
		fflush(capture);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

void catch_throw(void)
{
	siglongjmp(catch_env, 1);
}

static void on_signal(int number, siginfo_t *info, void *context __maybe_unused)
{
	static char what[96];

	snprintf(what, sizeof(what), "signal %d (%s) at address %p", number,
		 strsignal(number), info->si_addr);
	crashed_hook(what);
}

void catch_install(void (*crashed)(const char *what))
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	static char stack[64 << 10];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};

	crashed_hook = crashed;
	sigaltstack(&alternate, NULL);
	for (unsigned int i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}
