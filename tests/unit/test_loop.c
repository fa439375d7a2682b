/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "kube/loop.h"
#include "unit.h"

/* A clock that stands until it is moved, so that nothing here waits. */
struct fixed {
	struct clock clock;
	int64_t ms;
};

static int64_t fixed_ms(const struct clock *c)
{
	return ((const struct fixed *)c->arg)->ms;
}

struct world {
	struct fixed time;
	struct loop *loop;
	char text[64]; /* what fired, in order */
	struct timer *victim;
	struct fdwatch *watch;
	int fds[2];
	int again;
};

static void set_up(struct world *w)
{
	struct err err = ERR_INIT;

	*w = (struct world){ .fds = { -1, -1 } };
	w->time.ms = 1000;
	w->time.clock = (struct clock){ .wall_ms = fixed_ms, .mono_ms = fixed_ms, .arg = &w->time };
	unit_assert_ok(loop_new(&w->time.clock, &w->loop, &err), &err);
	assert_int_equal(pipe2(w->fds, O_CLOEXEC), 0);
}

static void tear_down(struct world *w)
{
	loop_free(w->loop);
	(void)close(w->fds[0]); /* nothing was to be kept of it */
	(void)close(w->fds[1]);
}

static void note(struct world *w, char c)
{
	size_t n = strlen(w->text);

	assert_true(n + 1 < sizeof(w->text));
	w->text[n] = c;
}

static void on_a(void *arg)
{
	note(arg, 'a');
}

static void on_b(void *arg)
{
	note(arg, 'b');
}

static void on_c(void *arg)
{
	note(arg, 'c');
}

static void on_again(void *arg)
{
	struct world *w = arg;

	note(w, 'r');
	if (w->again-- > 0)
		assert_non_null(loop_after(w->loop, 0, on_again, w));
}

static void on_cancel_victim(void *arg)
{
	struct world *w = arg;

	note(w, 'x');
	loop_cancel(w->loop, w->victim);
}

static void turn(struct world *w)
{
	struct err err = ERR_INIT;

	unit_assert_ok(loop_once(w->loop, 0, &err), &err);
}

static void timers_fire_in_the_order_of_their_times(void **state)
{
	struct world w;

	set_up(&w);
	assert_non_null(loop_after(w.loop, 30, on_c, &w));
	assert_non_null(loop_after(w.loop, 10, on_a, &w));
	assert_non_null(loop_after(w.loop, 10, on_b, &w));
	turn(&w);
	assert_string_equal(w.text, "");
	w.time.ms += 10;
	turn(&w);
	assert_string_equal(w.text, "ab");
	w.time.ms += 100;
	turn(&w);
	assert_string_equal(w.text, "abc");
	tear_down(&w);
}

static void a_timer_of_no_delay_does_not_hold_the_loop(void **state)
{
	struct world w;

	set_up(&w);
	w.again = 2;
	assert_non_null(loop_after(w.loop, 0, on_again, &w));
	turn(&w);
	assert_string_equal(w.text, "r");
	turn(&w);
	turn(&w);
	turn(&w);
	assert_string_equal(w.text, "rrr");
	tear_down(&w);
}

static void a_timer_may_cancel_another_that_is_due(void **state)
{
	struct world w;

	set_up(&w);
	assert_non_null(loop_after(w.loop, 1, on_cancel_victim, &w));
	w.victim = loop_after(w.loop, 2, on_a, &w);
	assert_non_null(w.victim);
	w.time.ms += 5;
	turn(&w);
	assert_string_equal(w.text, "x");
	tear_down(&w);
}

static void many_timers_come_in_order_whatever_is_cancelled(void **state)
{
	struct timer *timers[500];
	struct world w;

	set_up(&w);
	for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
		timers[i] = loop_after(w.loop, (int64_t)(i * 7919 % 503), on_a, &w);
		assert_non_null(timers[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(timers); i++)
		if (i % 50 != 3)
			loop_cancel(w.loop, timers[i]);
	w.time.ms += 1000;
	turn(&w);
	assert_string_equal(w.text, "aaaaaaaaaa");
	tear_down(&w);
}

static void on_readable(void *arg)
{
	struct world *w = arg;
	char c;

	assert_int_equal(read(w->fds[0], &c, 1), 1);
	note(w, c);
	if (c == 'q')
		loop_unwatch_fd(w->loop, TAKE(w->watch));
	if (c == 's')
		loop_stop(w->loop);
}

static void a_descriptor_is_watched_until_it_is_let_go(void **state)
{
	struct err err = ERR_INIT;
	struct world w;

	set_up(&w);
	w.watch = loop_watch_fd(w.loop, w.fds[0], on_readable, &w);
	assert_non_null(w.watch);
	assert_int_equal(write(w.fds[1], "1s", 2), 2);
	unit_assert_ok(loop_run(w.loop, &err), &err);
	assert_string_equal(w.text, "1s");
	assert_false(loop_stopping(w.loop));
	assert_int_equal(write(w.fds[1], "qz", 2), 2);
	turn(&w);
	turn(&w);
	assert_string_equal(w.text, "1sq");
	tear_down(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(timers_fire_in_the_order_of_their_times),
		UNIT_CASE(a_timer_of_no_delay_does_not_hold_the_loop),
		UNIT_CASE(a_timer_may_cancel_another_that_is_due),
		UNIT_CASE(many_timers_come_in_order_whatever_is_cancelled),
		UNIT_CASE(a_descriptor_is_watched_until_it_is_let_go),
	};
	UNIT_MAIN(tests);
}
