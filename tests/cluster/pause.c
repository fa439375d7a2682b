/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of every pod: it holds the pod's name spaces, and collects the children that
 * lost their parent where a pod shares its process name space.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void quit(int sig)
{
	(void)sig;
	_exit(0);
}

static void collect(int sig)
{
	(void)sig;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int main(void)
{
	signal(SIGTERM, quit);
	signal(SIGINT, quit);
	signal(SIGCHLD, collect);
	for (;;)
		pause();
}
