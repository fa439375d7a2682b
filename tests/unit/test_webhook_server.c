/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server with its threads, over real sockets, while snapshots and certificates change:
 * under thread sanitizer this is where a race shows.
 */
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "certs/renew.h"
#include "unit.h"
#include "webhook/arena.h"
#include "webhook/server.h"

#define CLIENTS 4
#define ROUNDS 60

struct world {
	struct metrics metrics;
	struct tls_store tls;
	struct snap_cell cell;
	struct reserve *reserve;
	struct review_env env;
	struct log log;
	struct server_opts opts;
	struct server *server;
};

static void publish(struct world *w, const char *job)
{
	struct err err = ERR_INIT;
	struct snap_obj *o;
	struct snap *s;

	unit_assert_ok(snap_new(&s, &err), &err);
	if (job) {
		unit_assert_ok(snap_obj_new(unit_json(job), &o, &err), &err);
		unit_assert_ok(snap_add_job(s, o, &err), &err);
		snap_obj_free(o);
	}
	snap_cell_set(&w->cell, s);
	atomic_store(&w->cell.heard_ms, clock_mono_ms(clock_system()));
	if (w->server)
		server_index_moved(w->server);
}

static void new_certificate(struct world *w, struct strs *names)
{
	AUTO(renew_state) struct renew_state s = RENEW_STATE_INIT;
	const struct renew_policy p = { .names = names,
					.now_s = clock_wall_ms(clock_system()) / 1000,
					.ca_life_s = 3600,
					.cert_life_s = 3600 };
	struct err err = ERR_INIT;
	unsigned changed;

	unit_assert_ok(renew_plan(&s, &p, &changed, &err), &err);
	unit_assert_ok(tls_store_set(&w->tls, &s.cert, &s.key, &err), &err);
}

static void start(struct world *w, bool plain)
{
	struct err err = ERR_INIT;

	*w = (struct world){ .log = { .fd = -1, .level = LOG_ERROR, .clock = clock_system() } };
	unit_assert_ok(metrics_init(&w->metrics, &err), &err);
	unit_assert_ok(tls_store_init(&w->tls, &err), &err);
	unit_assert_ok(snap_cell_init(&w->cell, &err), &err);
	unit_assert_ok(reserve_new(clock_system(), &w->reserve, &err), &err);
	w->env = (struct review_env){ .clock = clock_system(),
				      .cell = &w->cell,
				      .reserve = w->reserve,
				      .mount = true,
				      .unique_names = true };
	w->opts = (struct server_opts){ .listen = "127.0.0.1:0",
					.threads = 2,
					.plain = plain,
					.tls = &w->tls,
					.metrics = &w->metrics,
					.log = &w->log,
					.env = &w->env };
	publish(w, NULL);
	unit_assert_ok(server_start(&w->opts, &w->server, &err), &err);
}

static void stop(struct world *w)
{
	server_free(w->server);
	assert_int_equal(atomic_load(&w->metrics.in_flight), 0);
	assert_int_equal(atomic_load(&w->metrics.connections), 0);
	assert_int_equal(atomic_load(&w->metrics.body_bytes), 0);
	reserve_free(w->reserve);
	snap_cell_release(&w->cell);
	tls_store_release(&w->tls);
	metrics_release(&w->metrics);
}

/* --- a client ----------------------------------------------------------------- */

struct client {
	int fd;
	SSL_CTX *ctx;
	SSL *ssl; /* NULL: plain */
	struct buf answer;
};

static bool client_open(struct client *c, unsigned port, bool tls)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	*c = (struct client){ .fd = socket(AF_INET, SOCK_STREAM, 0), .answer = BUF_INIT(1 << 20) };
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return false;
	if (!tls)
		return true;
	c->ctx = SSL_CTX_new(TLS_client_method());
	c->ssl = SSL_new(c->ctx);
	return c->ssl && SSL_set_fd(c->ssl, c->fd) && SSL_connect(c->ssl) == 1;
}

static void client_close(struct client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	(void)close(c->fd);
	buf_release(&c->answer);
}

static bool client_write(struct client *c, const struct buf *b)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = c->ssl ? SSL_write(c->ssl, b->data + done, (int)(b->len - done))
				   : send(c->fd, b->data + done, b->len - done, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Posts a body and reads the answer, head and all, into c->answer. */
static bool client_ask(struct client *c, const char *path, const char *body)
{
	AUTO(buf) struct buf request = BUF_INIT(8 << 20);
	const char *end;
	char piece[4096];

	buf_printf(&request,
		   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		   "Content-Length: %zu\r\n\r\n",
		   path, strlen(body));
	buf_str(&request, body);
	if (!client_write(c, &request))
		return false;
	buf_clear(&c->answer);
	for (;;) {
		ssize_t n = c->ssl ? SSL_read(c->ssl, piece, sizeof(piece))
				   : recv(c->fd, piece, sizeof(piece), 0);

		if (n <= 0)
			return false;
		buf_add(&c->answer, piece, (size_t)n);
		end = strstr(buf_text(&c->answer), "\r\n\r\n");
		/* answers are objects, and fit their head's length */
		if (end && c->answer.data[c->answer.len - 1] == '}')
			return true;
	}
}

static void review_text(const char *kind, const char *name, const char *spec, struct buf *out)
{
	buf_printf(
		out,
		"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{"
		"\"uid\":\"u-%s\",\"kind\":{\"group\":\"kai.alibabacloud.com\",\"version\":"
		"\"v1alpha1\",\"kind\":\"%s\"},\"operation\":\"CREATE\",\"namespace\":\"a\","
		"\"object\":{\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\"},"
		"\"spec\":%s}}}",
		name, kind, kind, name, spec);
}

#define POD "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define SPEC                                                   \
	"{\"etReplicaSpecs\":{\"launcher\":{\"template\":" POD \
	"},\"worker\":{\"replicas\":2,\"minReplicas\":1,\"maxReplicas\":4,\"template\":" POD "}}}"

struct work {
	struct world *w;
	pthread_t thread;
	unsigned index;
	bool tls, failed;
};

static void *client_thread(void *arg)
{
	struct work *k = arg;
	struct client c;
	bool ok = client_open(&c, server_port(k->w->server), k->tls);

	for (int i = 0; ok && i < ROUNDS; i++) {
		AUTO(buf) struct buf body = BUF_INIT(1 << 16);
		char name[32], uid[64];

		snprintf(name, sizeof(name), "j-%u-%d", k->index, i);
		snprintf(uid, sizeof(uid), "\"uid\":\"u-%s\"", name);
		review_text("TrainingJob", name, SPEC, &body);
		ok = client_ask(&c, i % 2 ? "/validate" : "/mutate", buf_text(&body)) &&
		     strstr(c.answer.data, uid) && strstr(c.answer.data, "\"allowed\":true");
		if (k->tls && i % 10 == 9) { /* a handshake with the newest certificate */
			client_close(&c);
			ok = client_open(&c, server_port(k->w->server), true) && ok;
		}
	}
	client_close(&c);
	k->failed = !ok;
	return NULL;
}

static void clients_at_once(bool tls)
{
	struct world w;
	struct work works[CLIENTS];
	struct strs names = STRS_INIT;
	struct err err = ERR_INIT;

	unit_assert_ok(strs_add(&names, "localhost", &err), &err);
	start(&w, !tls);
	new_certificate(&w, &names);
	for (unsigned i = 0; i < CLIENTS; i++) {
		works[i] = (struct work){ .w = &w, .index = i, .tls = tls };
		assert_int_equal(pthread_create(&works[i].thread, NULL, client_thread, &works[i]),
				 0);
	}
	for (int i = 0; i < 20; i++) {
		publish(&w, NULL);
		new_certificate(&w, &names);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		pthread_join(works[i].thread, NULL);
		assert_false(works[i].failed);
	}
	assert_int_equal(metrics_answered(&w.metrics), CLIENTS * ROUNDS);
	assert_int_equal(reserve_count(w.reserve), CLIENTS * ROUNDS / 2);
	stop(&w);
	strs_release(&names);
}

static void many_clients_get_their_own_answers(void **state)
{
	clients_at_once(false);
}

static void many_clients_over_tls_while_certificates_change(void **state)
{
	clients_at_once(true);
}

static void *publish_later(void *arg)
{
	struct world *w = arg;

	/* until the scaler waits: its request is there and has no answer */
	while (server_in_flight(w->server) == 0)
		sched_yield();
	publish(w, "{\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"late\",\"namespace\":\"a\"},"
		   "\"spec\":" SPEC "}");
	return NULL;
}

static void a_scaler_waits_for_its_job(void **state)
{
	AUTO(buf) struct buf body = BUF_INIT(1 << 16), again = BUF_INIT(1 << 16);
	struct world w;
	struct client c;
	pthread_t thread;

	start(&w, true);
	review_text("ScaleOut", "s", "{\"selector\":{\"name\":\"late\"},\"toAdd\":{\"count\":1}}",
		    &body);
	assert_int_equal(pthread_create(&thread, NULL, publish_later, &w), 0);
	assert_true(client_open(&c, server_port(w.server), false));
	assert_true(client_ask(&c, "/validate", buf_text(&body)));
	pthread_join(thread, NULL);
	assert_non_null(strstr(c.answer.data, "\"allowed\":true"));
	/* and one whose job never comes is refused */
	review_text("ScaleOut", "s", "{\"selector\":{\"name\":\"never\"},\"toAdd\":{\"count\":1}}",
		    &again);
	assert_true(client_ask(&c, "/validate", buf_text(&again)));
	assert_non_null(strstr(c.answer.data, "there is no TrainingJob"));
	client_close(&c);
	stop(&w);
}

static void a_large_body_is_decided_by_the_lane(void **state)
{
	AUTO(buf) struct buf body = BUF_INIT(2 << 20);
	struct world w;
	struct client c;

	start(&w, true);
	review_text("TrainingJob", "large", SPEC, &body);
	buf_cut(&body, body.len - 1);
	buf_str(&body, ",\"pad\":\"");
	for (unsigned i = 0; i <= SERVER_BIG; i++)
		buf_char(&body, 'x');
	buf_str(&body, "\"}");
	assert_true(client_open(&c, server_port(w.server), false));
	for (int i = 0; i < 3; i++) {
		assert_true(client_ask(&c, "/mutate", buf_text(&body)));
		assert_non_null(strstr(c.answer.data, "\"patchType\":\"JSONPatch\""));
	}
	client_close(&c);
	stop(&w);
}

static void a_draining_server_asks_to_go_elsewhere(void **state)
{
	AUTO(buf) struct buf body = BUF_INIT(1 << 16);
	struct world w;
	struct client c;

	start(&w, true);
	review_text("TrainingJob", "last", SPEC, &body);
	assert_true(client_open(&c, server_port(w.server), false));
	assert_true(client_ask(&c, "/mutate", buf_text(&body)));
	assert_null(strstr(c.answer.data, "Connection: close"));
	server_drain(w.server);
	assert_true(client_ask(&c, "/mutate", buf_text(&body)));
	assert_non_null(strstr(c.answer.data, "Connection: close"));
	assert_false(client_ask(&c, "/mutate", buf_text(&body)));
	client_close(&c);
	server_close(w.server);
	assert_false(client_open(&c, 1, false));
	client_close(&c);
	stop(&w);
}

static void addresses_to_listen_on(void **state)
{
	static const struct {
		const char *listen, *fault;
	} rows[] = {
		{ "127.0.0.1:0", NULL },
		{ ":0", NULL },
		{ "9443", "is no address to listen on" },
		{ "", "is no address to listen on" },
		{ ":", "is no address to listen on" },
		{ "::1:80", "is no address to listen on" },
		{ "127.0.0.1:http", "is no address to listen on" },
		{ "192.0.2.1:0", "cannot listen on" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = ERR_INIT;
		int fd = -1;
		int rc = server_listen(rows[i].listen, &fd, &err);

		if (rows[i].fault) {
			assert_int_equal(rc, -1);
			assert_non_null(strstr(err.msg, rows[i].fault));
		} else {
			unit_assert_ok(rc, &err);
			close(fd);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_CASE(many_clients_get_their_own_answers),
		UNIT_CASE(many_clients_over_tls_while_certificates_change),
		UNIT_CASE(a_scaler_waits_for_its_job),
		UNIT_CASE(a_large_body_is_decided_by_the_lane),
		UNIT_CASE(a_draining_server_asks_to_go_elsewhere),
		UNIT_CASE(addresses_to_listen_on),
	};

	arena_install();
	UNIT_MAIN(tests);
}
