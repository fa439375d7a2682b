/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/loop.h"

#include <errno.h>

#define WAIT_MAX_MS 3600000

struct timer {
	int64_t due_ms; /* monotonic */
	uint64_t seq;   /* order of equal times */
	size_t at;      /* index in the heap */
	void (*fn)(void *arg);
	void *arg;
	struct timer *next; /* while it is a spare one */
};

struct fdwatch {
	int fd;
	size_t slot; /* in fds of the wait under way; SIZE_MAX: not waited for yet */
	bool dead;   /* unwatched while callbacks run */
	void (*fn)(void *arg);
	void *arg;
	struct fdwatch *next;
};

struct loop {
	const struct clock *clock;
	CURLM *multi;
	struct timer **heap; /* owned, the earliest first */
	size_t ntimers, heap_size;
	struct timer *spare; /* kept for the next ones: trying again needs no memory then */
	uint64_t seq;
	struct fdwatch *watches;
	size_t nwatches;
	struct transfer *transfers; /* under way; borrowed */
	struct curl_waitfd *fds;    /* owned scratch of the wait */
	size_t fds_size;
	size_t woken; /* transfers that wait for ready() */
	bool watches_busy;
	bool stop;
};

int loop_new(const struct clock *clock, struct loop **out, struct err *err)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return err_nomem(err);
	l->clock = clock;
	l->multi = curl_multi_init();
	if (!l->multi) {
		free(l);
		return err_nomem(err);
	}
	*out = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	while (l->transfers)
		loop_remove(l->transfers);
	(void)curl_multi_cleanup(l->multi); /* nothing is left in it that could refuse */
	for (size_t i = 0; i < l->ntimers; i++)
		free(l->heap[i]);
	free(l->heap);
	for (struct timer *t = l->spare, *next; t; t = next) {
		next = t->next;
		free(t);
	}
	for (struct fdwatch *w = l->watches, *next; w; w = next) {
		next = w->next;
		free(w);
	}
	free(l->fds);
	free(l);
}

const struct clock *loop_clock(const struct loop *l)
{
	return l->clock;
}

CURLM *loop_multi(struct loop *l)
{
	return l->multi;
}

/* --- timers: a binary heap ------------------------------------------------ */

static bool timer_before(const struct timer *a, const struct timer *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->seq < b->seq;
}

static void heap_put(struct loop *l, size_t at, struct timer *t)
{
	l->heap[at] = t;
	t->at = at;
}

static void heap_up(struct loop *l, size_t at)
{
	struct timer *t = l->heap[at];

	for (; at > 0 && timer_before(t, l->heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap_put(l, at, l->heap[(at - 1) / 2]);
	heap_put(l, at, t);
}

static void heap_down(struct loop *l, size_t at)
{
	struct timer *t = l->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= l->ntimers)
			break;
		if (child + 1 < l->ntimers && timer_before(l->heap[child + 1], l->heap[child]))
			child++;
		if (!timer_before(l->heap[child], t))
			break;
		heap_put(l, at, l->heap[child]);
		at = child;
	}
	heap_put(l, at, t);
}

static void heap_remove(struct loop *l, struct timer *t)
{
	struct timer *last = l->heap[--l->ntimers];
	size_t at = t->at;

	if (last == t)
		return;
	heap_put(l, at, last);
	heap_up(l, at);
	heap_down(l, last->at);
}

struct timer *loop_after(struct loop *l, int64_t delay_ms, void (*fn)(void *arg), void *arg)
{
	struct timer *t;

	if (l->ntimers == l->heap_size) {
		size_t size = l->heap_size ? 2 * l->heap_size : 16;
		struct timer **heap = realloc(l->heap, size * sizeof(struct timer *));

		if (!heap)
			return NULL;
		l->heap = heap;
		l->heap_size = size;
	}
	t = l->spare;
	if (t)
		l->spare = t->next;
	else
		t = malloc(sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct timer){ 0 };
	t->due_ms = clock_mono_ms(l->clock) + (delay_ms > 0 ? delay_ms : 0);
	t->seq = l->seq++;
	t->fn = fn;
	t->arg = arg;
	heap_put(l, l->ntimers++, t);
	heap_up(l, t->at);
	return t;
}

static void timer_spare(struct loop *l, struct timer *t)
{
	t->next = l->spare;
	l->spare = t;
}

void loop_cancel(struct loop *l, struct timer *t)
{
	if (!t)
		return;
	heap_remove(l, t);
	timer_spare(l, t);
}

/* Timers that a callback adds wait for the next turn, so a zero delay can not hold the loop. */
static void run_timers(struct loop *l)
{
	int64_t now = clock_mono_ms(l->clock);
	uint64_t before = l->seq;

	while (l->ntimers > 0 && l->heap[0]->due_ms <= now && l->heap[0]->seq < before) {
		struct timer *t = l->heap[0];
		void (*fn)(void *arg) = t->fn;
		void *arg = t->arg;

		heap_remove(l, t);
		timer_spare(l, t);
		fn(arg);
	}
}

/* --- descriptors ---------------------------------------------------------- */

struct fdwatch *loop_watch_fd(struct loop *l, int fd, void (*fn)(void *arg), void *arg)
{
	struct fdwatch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = fd;
	w->slot = SIZE_MAX;
	w->fn = fn;
	w->arg = arg;
	w->next = l->watches;
	l->watches = w;
	l->nwatches++;
	return w;
}

static void sweep_watches(struct loop *l)
{
	for (struct fdwatch **p = &l->watches; *p;) {
		struct fdwatch *w = *p;

		if (w->dead) {
			*p = w->next;
			free(w);
			l->nwatches--;
		} else {
			p = &w->next;
		}
	}
}

void loop_unwatch_fd(struct loop *l, struct fdwatch *w)
{
	if (!w)
		return;
	w->dead = true;
	if (!l->watches_busy)
		sweep_watches(l);
}

static void run_watches(struct loop *l)
{
	l->watches_busy = true;
	for (struct fdwatch *w = l->watches; w; w = w->next) {
		bool readable = w->slot != SIZE_MAX && l->fds[w->slot].revents;

		w->slot = SIZE_MAX;
		if (readable && !w->dead)
			w->fn(w->arg);
	}
	l->watches_busy = false;
	sweep_watches(l);
}

/* --- transfers ------------------------------------------------------------ */

int loop_add(struct loop *l, struct transfer *t, struct err *err)
{
	CURLMcode rc;

	if (curl_easy_setopt(t->easy, CURLOPT_PRIVATE, (void *)t) != CURLE_OK)
		return err_nomem(err);
	rc = curl_multi_add_handle(l->multi, t->easy);
	if (rc != CURLM_OK)
		return err_set(err, FAIL_NET, "cannot start a request: %s",
			       curl_multi_strerror(rc));
	t->loop = l;
	t->woken = false;
	t->prev = NULL;
	t->next = l->transfers;
	if (t->next)
		t->next->prev = t;
	l->transfers = t;
	return 0;
}

static void transfer_unlink(struct transfer *t)
{
	struct loop *l = t->loop;

	if (t->woken)
		l->woken--;
	if (t->next)
		t->next->prev = t->prev;
	if (t->prev)
		t->prev->next = t->next;
	else
		l->transfers = t->next;
	t->next = t->prev = NULL;
	t->woken = false;
	t->loop = NULL;
}

void loop_remove(struct transfer *t)
{
	if (!t->loop)
		return;
	(void)curl_multi_remove_handle(t->loop->multi, t->easy); /* it is there, so it can go */
	transfer_unlink(t);
}

void transfer_wake(struct transfer *t)
{
	if (t->woken || !t->loop)
		return;
	t->woken = true;
	t->loop->woken++;
}

/*
 * ready() may add and remove any transfer, so the search starts anew after each.
 * Returns whether there was any.
 */
static bool run_ready(struct loop *l)
{
	bool any = l->woken > 0;

	while (l->woken > 0) {
		struct transfer *t = l->transfers;

		while (t && !t->woken)
			t = t->next;
		if (!t)
			break;
		t->woken = false;
		l->woken--;
		t->ready(t);
	}
	return any;
}

static bool run_done(struct loop *l)
{
	bool any = false;
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(l->multi, &left))) {
		CURLcode code = msg->data.result;
		char *private = NULL;
		struct transfer *t;

		if (msg->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &private);
		t = (struct transfer *)(void *)private;
		loop_remove(t);
		t->done(t, code);
		any = true;
	}
	return any;
}

/* Lets curl work and runs the callbacks of what came; *any: there was some. */
static int perform(struct loop *l, bool *any, struct err *err)
{
	int running;
	CURLMcode rc = curl_multi_perform(l->multi, &running);

	if (rc == CURLM_OUT_OF_MEMORY)
		return err_nomem(err);
	if (rc != CURLM_OK)
		return err_set(err, FAIL_OS, "the event loop failed: %s", curl_multi_strerror(rc));
	*any = run_ready(l);
	*any = run_done(l) || *any;
	return 0;
}

/* --- turning -------------------------------------------------------------- */

static int prepare_fds(struct loop *l, struct err *err)
{
	size_t n = 0;

	if (l->nwatches > l->fds_size) {
		struct curl_waitfd *fds = realloc(l->fds, l->nwatches * sizeof(*fds));

		if (!fds)
			return err_nomem(err);
		l->fds = fds;
		l->fds_size = l->nwatches;
	}
	for (struct fdwatch *w = l->watches; w; w = w->next) {
		w->slot = n;
		l->fds[n++] = (struct curl_waitfd){ .fd = w->fd, .events = CURL_WAIT_POLLIN };
	}
	return 0;
}

static int64_t wait_ms(const struct loop *l, int64_t max_ms)
{
	int64_t ms = max_ms < 0 || max_ms > WAIT_MAX_MS ? WAIT_MAX_MS : max_ms;

	if (l->ntimers > 0) {
		int64_t left = l->heap[0]->due_ms - clock_mono_ms(l->clock);

		if (left < ms)
			ms = left > 0 ? left : 0;
	}
	return ms;
}

int loop_once(struct loop *l, int64_t max_ms, struct err *err)
{
	CURLMcode rc;
	bool any = false;

	/*
	 * What was added since the last turn starts now, and may even fail now (a refused
	 * connection), before any waiting.
	 */
	if (perform(l, &any, err) < 0 || prepare_fds(l, err) < 0)
		return -1;
	rc = curl_multi_poll(l->multi, l->fds, (unsigned)l->nwatches,
			     any || l->stop ? 0 : (int)wait_ms(l, max_ms), NULL);
	if (rc == CURLM_OUT_OF_MEMORY)
		return err_nomem(err);
	if (rc != CURLM_OK)
		return err_set(err, FAIL_OS, "the event loop failed: %s", curl_multi_strerror(rc));
	if (perform(l, &any, err) < 0)
		return -1;
	run_watches(l);
	run_timers(l);
	return 0;
}

int loop_run(struct loop *l, struct err *err)
{
	int rc = 0;

	l->stop = false;
	while (!l->stop && rc == 0)
		rc = loop_once(l, WAIT_MAX_MS, err);
	l->stop = false;
	return rc;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

bool loop_stopping(const struct loop *l)
{
	return l->stop;
}
