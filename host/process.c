/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct process {
	pid_t pid;
};

static int spawn(pid_t *pid, const char *path, char *const argv[], int out)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!err)
		err = posix_spawn(pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

int process_start(const char *path, char *const argv[],
		  struct process **process, FILE **out)
{
	struct process *p = malloc(sizeof(*p));
	int ends[2], err = -ENOMEM;
	FILE *in;

	if (!p)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC)) {
		err = -errno;
		goto err_free;
	}
	in = fdopen(ends[0], "r");
	if (!in) {
		close(ends[0]);
		close(ends[1]);
		goto err_free;
	}
	err = spawn(&p->pid, path, argv, ends[1]);
	close(ends[1]);
	if (err) {
		fclose(in);
		goto err_free;
	}
	*process = p;
	*out = in;
	return 0;

err_free:
	free(p);
	return err;
}

int process_finish(struct process *process, FILE *out)
{
	int status = 0;

	fclose(out);
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	free(process);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

int helper_path(const char *name, char *path, size_t room)
{
	static const char *const places[] = { "libexec", "../libexec/pinfold" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *folder;

	if (n < 0)
		return -ENOENT;
	self[n] = '\0';
	folder = dirname(self);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int used = snprintf(path, room, "%s/%s/%s", folder, places[i],
				    name);

		if (used > 0 && (size_t)used < room && !access(path, X_OK))
			return 0;
	}
	return -ENOENT;
}
