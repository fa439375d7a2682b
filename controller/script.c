/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/script.h"

#include "base/limits.h"
#include "wire/url.h"

#define CHANNEL_OUT 1
#define CHANNEL_ERR 2
#define CHANNEL_STATUS 3
#define SAID_MOST 512 /* bytes of output that are kept */

void script_frames_release(struct script_frames *f)
{
	buf_release(&f->in);
	buf_release(&f->said);
	buf_release(&f->cause);
}

static void keep_said(struct script_frames *f, const char *data, size_t n)
{
	buf_add(&f->said, data, n);
	if (f->said.len > SAID_MOST)
		buf_drop(&f->said, f->said.len - SAID_MOST);
}

/* The last frame: a Status. */
static void read_status(struct script_frames *f, const char *data, size_t n)
{
	AUTO_JSON cJSON *status = NULL;

	f->ended = true;
	if (json_parse_lenient(data, n, &status, NULL) < 0) {
		buf_str(&f->cause, "the API server's last word could not be read");
		return;
	}
	f->ok = str_eq(json_get_str(status, "status", ""), "Success");
	if (!f->ok)
		buf_str(&f->cause, json_get_str(status, "message", "no reason given"));
}

static void read_frame(struct script_frames *f, unsigned opcode, const char *data, size_t n)
{
	/* 1 and 2 are text and binary, 8 closes, 9 and 10 ask whether we are there. */
	if (opcode == 8 && !f->ended) {
		f->ended = true;
		buf_str(&f->cause, "the connection was closed before it ended");
	}
	if ((opcode != 1 && opcode != 2) || n == 0)
		return;
	if (data[0] == CHANNEL_STATUS)
		read_status(f, data + 1, n - 1);
	else if (data[0] == CHANNEL_OUT || data[0] == CHANNEL_ERR)
		keep_said(f, data + 1, n - 1);
}

int script_frames_add(struct script_frames *f, const char *data, size_t n, struct err *err)
{
	buf_add(&f->in, data, n);
	if (buf_check(&f->in, err) < 0)
		return -1;
	while (f->in.len >= 2 && !f->ended) {
		const unsigned char *b = (const unsigned char *)f->in.data;
		size_t head = 2, len = b[1] & 0x7f;

		if (b[1] & 0x80) /* only clients mask */
			return err_set(err, FAIL_INPUT, "the answer is no WebSocket of a server");
		if (len >= 126) {
			size_t more = len == 126 ? 2 : 8;

			head += more;
			if (f->in.len < head)
				return 0;
			len = 0;
			for (size_t i = 0; i < more; i++)
				len = len << 8 | b[2 + i];
			if (len > f->in.cap)
				return err_set(err, FAIL_LIMIT, "a frame of %zu bytes", len);
		}
		if (f->in.len - head < len || f->in.len < head)
			return 0;
		read_frame(f, b[0] & 0x0f, f->in.data + head, len);
		buf_drop(&f->in, head + len);
	}
	return 0;
}

struct run {
	struct engine *e;
	char *key, *uid; /* owned: of the job's rec and of the scaler */
	struct script_frames frames;
	struct err err; /* of the frames */
};

static void run_free(struct run *r)
{
	free(r->key);
	free(r->uid);
	script_frames_release(&r->frames);
	free(r);
}

static int on_data(void *arg, const char *data, size_t n)
{
	struct run *r = arg;

	return script_frames_add(&r->frames, data, n, &r->err) < 0 || r->frames.ended;
}

static void note(struct engine *e, struct rec *rec, bool ok, const char *why,
		 const struct buf *said)
{
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);

	rec->script = ok ? SCRIPT_DONE : SCRIPT_FAILED;
	free(TAKE(rec->script_message));
	buf_str(&text, why);
	if (said && said->len) {
		buf_str(&text, "; it said: ");
		buf_visible(&text, said->data, said->len);
	}
	if (!ok && buf_finish(&text, &rec->script_message, NULL) < 0)
		rec->script_message = NULL; /* it failed without a word */
	if (e->io.log)
		log_event(e->io.log, ok ? LOG_INFO : LOG_WARN, "a script ended", "job", rec->key,
			  "error", ok ? NULL : rec->script_message, NULL);
	engine_mark(e, rec);
}

static void on_done(void *arg, struct kube_resp *resp, const struct err *why)
{
	struct run *r = arg;
	struct rec *rec = map_get(&r->e->seen.recs, r->key);
	const struct script_frames *f = &r->frames;

	(void)resp;
	if (rec && str_eq(rec->script_uid, r->uid)) {
		const char *cause = f->ended                 ? buf_text(&f->cause)
				    : r->err.fail            ? r->err.msg
				    : why->fail != FAIL_NONE ? why->msg
							     : "the connection ended before it did";

		note(r->e, rec, f->ended && f->ok, cause, &f->said);
	}
	run_free(r);
}

static int exec_path(const struct rec *rec, const struct action *a, struct buf *path,
		     struct err *err)
{
	const cJSON *v;

	if (kube_path(&kube_pods, rec->ns, a->name, "exec", path, err) < 0)
		return -1;
	url_query(path, "container", json_get_str(a->body, "container", ""));
	url_query(path, "stdout", "true");
	url_query(path, "stderr", "true");
	url_query(path, "command", "env");
	json_each (v, json_get(a->body, "env")) {
		AUTO(buf) struct buf pair = BUF_INIT(LIMIT_OBJECT);

		buf_printf(&pair, "%s=%s", json_get_str(v, "name", ""),
			   json_get_str(v, "value", ""));
		/* A name with "=" or of nothing would be taken for something else by env. */
		if (buf_text(&pair)[0] == '=' || buf_text(&pair)[0] == '-')
			return err_set(err, FAIL_INPUT, "env: \"%s\" is no name of a variable",
				       json_get_str(v, "name", ""));
		url_query(path, "command", buf_text(&pair));
	}
	url_query(path, "command", "sh");
	url_query(path, "command", "-c");
	url_query(path, "command", json_get_str(a->body, "script", ""));
	return buf_check(path, err);
}

static int begin(struct engine *e, struct rec *rec, const struct action *a, struct err *err)
{
	AUTO(buf) struct buf path = BUF_INIT(LIMIT_OBJECT);
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		return err_nomem(err);
	r->e = e;
	r->frames = SCRIPT_FRAMES_INIT;
	if (str_copy(rec->key, &r->key, err) < 0 || str_copy(rec->script_uid, &r->uid, err) < 0 ||
	    exec_path(rec, a, &path, err) < 0 ||
	    e->io.send(
		    e->io.arg,
		    &(struct kube_req){ .method = "GET",
					.path = buf_text(&path),
					.accept = "*/*",
					.upgrade = "v4.channel.k8s.io",
					.timeout_ms = json_get_int(a->body, "timeout", 60) * 1000,
					.no_retry = true,
					.on_data = on_data,
					.on_done = on_done,
					.arg = r },
		    err) < 0) {
		run_free(r);
		return -1;
	}
	return 0;
}

void script_start(struct engine *e, struct rec *rec, const struct action *a)
{
	const char *uid = json_get_str(a->body, "uid", "");
	struct err err = ERR_INIT;

	if (!str_eq(rec->script_uid, uid)) {
		free(TAKE(rec->script_uid));
		rec->script_tries = 0;
		if (str_copy(uid, &rec->script_uid, &err) < 0)
			return; /* it is asked for again */
	}
	rec->script_tries++;
	rec->script = SCRIPT_RUNS;
	if (begin(e, rec, a, &err) < 0)
		note(e, rec, false, err.msg, NULL);
}
