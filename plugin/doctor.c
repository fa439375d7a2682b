/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: the looks at server, CRDs, webhook, controller, rights and neighbours. */
#include "doctor.h"

#include <openssl/pem.h>

#include "base/limits.h"
#include "bundle.h"
#include "etjob/names.h"
#include "fetch.h"
#include "wire/base64.h"
#include "wire/time.h"

#define OLDEST_MINOR 28 /* Kubernetes 1.28 */
#define SKEW_MS 5000
#define LEASE_STALE_MS 30000
#define REINSTALL "kubectl etjob install"

int doctor_say(struct doctor *d, const char *check, enum health health, const char *fix,
	       struct err *err, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "warning", "failed" };
	AUTO(buf) struct buf text = BUF_INIT(LIMIT_TEXT);
	cJSON *o = cJSON_CreateObject();
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	d->failed = d->failed || health == HEALTH_FAIL;
	if (!o)
		return err_nomem(err);
	if (json_append(d->findings, o, err) < 0 || json_set_str(o, "check", check, err) < 0 ||
	    json_set_str(o, "status", words[health], err) < 0 ||
	    json_set_str(o, "message", buf_text(&text), err) < 0)
		return -1;
	return fix && health != HEALTH_OK ? json_set_str(o, "fix", fix, err) : 0;
}

static int skew(struct doctor *d, struct err *err)
{
	AUTO_JSON cJSON *probe = cJSON_CreateObject(), *made = NULL;
	const struct kube_create_opts opts = { .dry_run = true };
	cJSON *meta = probe ? json_need_object(probe, "metadata", err) : NULL;
	struct err why = ERR_INIT;
	int64_t theirs, ours;

	if (!meta)
		return err_nomem(err);
	if (json_set_str(probe, "apiVersion", "v1", err) < 0 ||
	    json_set_str(probe, "kind", "ConfigMap", err) < 0 ||
	    json_set_str(meta, "generateName", "etjob-doctor-", err) < 0)
		return -1;
	if (kube_create(d->ctx->api, &kube_configmaps, ctx_ns(d->ctx), probe, &opts, &made, &why) <
	    0)
		return 0; /* who may not make one is not told of the clock */
	ours = clock_wall_ms(d->ctx->clock);
	if (!time_get(json_get_str(json_get(made, "metadata"), "creationTimestamp", NULL), &theirs))
		return 0;
	int64_t off = ours - theirs; /* theirs is cut to seconds */
	if (off > SKEW_MS || off < -SKEW_MS)
		return doctor_say(d, "clock", HEALTH_WARN,
				  "set the clock of this machine or of the control plane", err,
				  "this machine's clock is %" PRId64 " s %s the server's",
				  (off > 0 ? off : -off) / 1000, off > 0 ? "ahead of" : "behind");
	return doctor_say(d, "clock", HEALTH_OK, NULL, err, "agrees with the server's");
}

int doctor_server(struct doctor *d, struct err *err)
{
	const struct kube_req req = { .method = "GET", .path = "/version" };
	struct kube_resp resp = { 0 };
	AUTO(buf) struct buf version = BUF_INIT(LIMIT_TEXT);
	int64_t minor = 0;
	int rc = kube_do(d->ctx->api, &req, &resp, err);

	if (rc == 0) {
		minor = strtol(json_get_str(resp.json, "minor", "0"), NULL, 10);
		buf_str(&version, json_get_str(resp.json, "gitVersion", "unknown"));
	}
	kube_resp_release(&resp);
	if (rc < 0)
		return -1;
	if (doctor_say(d, "server", minor && minor < OLDEST_MINOR ? HEALTH_FAIL : HEALTH_OK,
		       "upgrade the cluster to Kubernetes 1.28 or newer", err,
		       "Kubernetes %s, plugin %s", buf_text(&version), ETJOB_RELEASE) < 0)
		return -1;
	return skew(d, err);
}

static int one_crd(struct doctor *d, const char *name, const struct fetch *f, struct err *err)
{
	AUTO(buf) struct buf where = BUF_INIT(LIMIT_TEXT);
	const cJSON *want = bundle_crd(&d->bundle, name);

	if (kube_is(&f->err, 404))
		return doctor_say(d, "crd", HEALTH_FAIL, REINSTALL, err, "%s is missing", name);
	if (f->err.fail != FAIL_NONE)
		return doctor_say(d, "crd", HEALTH_WARN,
				  "ask for the right to get customresourcedefinitions", err,
				  "%s can not be read: %s", name, f->err.msg);
	if (!bundle_within(json_get(f->json, "spec"), json_get(want, "spec"), &where))
		return doctor_say(d, "crd", HEALTH_FAIL, REINSTALL, err,
				  "%s is of another version: spec.%s differs", name,
				  buf_text(&where));
	return doctor_say(d, "crd", HEALTH_OK, NULL, err, "%s", name);
}

int doctor_crds(struct doctor *d, struct err *err)
{
	static const char *const names[] = { "trainingjobs." ETJOB_GROUP, "scaleouts." ETJOB_GROUP,
					     "scaleins." ETJOB_GROUP };
	struct fetch f[ARRAY_LEN(names)] = { 0 };
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		f[i].res = &kube_crds;
		f[i].name = names[i];
	}
	rc = fetch_all(d->ctx, f, ARRAY_LEN(f), err);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(names); i++)
		rc = one_crd(d, names[i], &f[i], err);
	fetch_release(f, ARRAY_LEN(f));
	return rc;
}

/* Says how long the first certificate of a bundle (base64 of PEM) is good for. */
static int certificate(struct doctor *d, const char *bundle, struct err *err)
{
	AUTO(buf) struct buf pem = BUF_INIT(LIMIT_OBJECT);
	struct err bad = ERR_INIT;
	int days = 0, seconds = 0;

	if (base64_decode(bundle, strlen(bundle), &pem, &bad) < 0)
		return doctor_say(d, "certificate", HEALTH_FAIL, REINSTALL, err,
				  "the CA bundle is no base64");
	BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.len);
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	bool known = cert && ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)) == 1;

	X509_free(cert);
	BIO_free(bio);
	if (!known)
		return doctor_say(d, "certificate", HEALTH_FAIL,
				  "delete the Secret etjob-webhook-tls and restart the "
				  "webhook",
				  err, "the webhook's CA bundle holds no certificate");
	if (days < 0 || seconds < 0)
		return doctor_say(d, "certificate", HEALTH_FAIL,
				  "restart the webhook, it makes a new one", err,
				  "the webhook's CA has expired");
	return doctor_say(d, "certificate", HEALTH_OK, NULL, err,
			  "the webhook's CA is good for %d days", days);
}

static int configuration(struct doctor *d, const char *kind, const struct fetch *f,
			 const char **bundle, struct err *err)
{
	const cJSON *hook;

	if (kube_is(&f->err, 404))
		return doctor_say(d, "webhook", HEALTH_FAIL, REINSTALL, err,
				  "the %s webhook configuration is missing", kind);
	if (f->err.fail != FAIL_NONE)
		return doctor_say(d, "webhook", HEALTH_WARN,
				  "ask for the right to get webhook configurations", err,
				  "the %s webhook configuration can not be read: %s", kind,
				  f->err.msg);
	json_each (hook, json_get(f->json, "webhooks")) {
		const char *ca = json_get_str(json_get(hook, "clientConfig"), "caBundle", "");

		if (!*ca)
			return doctor_say(
				d, "webhook", HEALTH_FAIL,
				"see why the webhook does not run: kubectl -n " BUNDLE_NAMESPACE
				" logs deploy/" BUNDLE_WEBHOOK,
				err, "the %s webhook configuration has no CA bundle yet", kind);
		*bundle = ca;
	}
	return doctor_say(d, "webhook", HEALTH_OK, NULL, err, "%s configuration", kind);
}

static size_t ready_endpoints(const cJSON *slices)
{
	const cJSON *slice, *e;
	size_t n = 0;

	json_each (slice, json_get(slices, "items"))
		json_each (e, json_get(slice, "endpoints"))
			n += json_get_bool(json_get(e, "conditions"), "ready", true);
	return n;
}

int doctor_webhook(struct doctor *d, struct err *err)
{
	const char *bundle = NULL;
	struct fetch f[] = {
		{ .res = &kube_mutatingwebhooks, .name = BUNDLE_WEBHOOK },
		{ .res = &kube_validatingwebhooks, .name = BUNDLE_WEBHOOK },
		{ .res = &kube_endpointslices,
		  .ns = BUNDLE_NAMESPACE,
		  .label_selector = "kubernetes.io/service-name=" BUNDLE_WEBHOOK },
	};
	int rc = fetch_all(d->ctx, f, ARRAY_LEN(f), err);

	if (rc == 0)
		rc = configuration(d, "mutating", &f[0], &bundle, err);
	if (rc == 0)
		rc = configuration(d, "validating", &f[1], &bundle, err);
	if (rc == 0 && bundle)
		rc = certificate(d, bundle, err);
	if (rc == 0 && f[2].err.fail == FAIL_NONE) {
		size_t n = ready_endpoints(f[2].json);

		rc = doctor_say(d, "endpoints", n ? HEALTH_OK : HEALTH_FAIL,
				"see the pods: kubectl -n " BUNDLE_NAMESPACE " get pods", err,
				n ? "%zu pods of the webhook are ready"
				  : "no pod of the webhook is ready (%zu)",
				n);
	}
	fetch_release(f, ARRAY_LEN(f));
	return rc;
}

/* What a refusal of the API server says about the way to the webhook. */
static const char *cure(const char *msg)
{
	static const struct {
		const char *sign, *fix;
	} rows[] = {
		{ "unknown authority",
		  "the CA bundle is not the webhook's: restart the webhook, it repairs it" },
		{ "has expired", "the webhook's certificate expired: restart the webhook" },
		{ "no endpoints available",
		  "no pod of the webhook is ready: kubectl -n " BUNDLE_NAMESPACE " get pods" },
		{ "not found", "the webhook's Service is missing: " REINSTALL },
		{ "connection refused", "the webhook does not listen: kubectl -n " BUNDLE_NAMESPACE
					" logs deploy/" BUNDLE_WEBHOOK },
		{ "deadline exceeded",
		  "the API server can not reach the webhook: look at network policies and firewalls "
		  "(port 443 of its Service)" },
		{ "not valid for any names",
		  "the certificate has the wrong names: restart the webhook" },
		{ "is valid for", "the certificate has the wrong names: restart the webhook" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strstr(msg, rows[i].sign))
			return rows[i].fix;
	return "see the webhook's log: kubectl -n " BUNDLE_NAMESPACE " logs deploy/" BUNDLE_WEBHOOK;
}

static const char bad_job[] =
	"{\"apiVersion\":\"" ETJOB_API_VERSION "\",\"kind\":\"" KIND_JOB
	"\",\"metadata\":{\"name\":\"etjob-doctor-probe\"},"
	"\"spec\":{\"etReplicaSpecs\":{\"launcher\":{\"replicas\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":"
	"\"et\",\"image\":\"i\"}]}}},\"worker\":{\"replicas\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"et\","
	"\"image\":\"i\",\"env\":[{\"name\":\"workers\",\"value\":\"x\"}]}]}}}}}}";

/* A dry run of a job that only the webhook refuses: what comes back shows the whole way. */
int doctor_probe(struct doctor *d, struct err *err)
{
	const struct kube_create_opts opts = { .dry_run = true };
	AUTO_JSON cJSON *job = NULL;
	struct err answer = ERR_INIT;

	if (json_parse(bad_job, strlen(bad_job), &job, err) < 0)
		return -1;
	if (kube_create(d->ctx->api, &kube_trainingjobs, ctx_ns(d->ctx), job, &opts, NULL,
			&answer) == 0)
		return doctor_say(
			d, "probe", HEALTH_FAIL, REINSTALL, err,
			"a broken job was accepted in namespace \"%s\": no webhook was asked",
			ctx_ns(d->ctx));
	/* The schema lets it pass, so this is the webhook's word. */
	if (answer.http == 422)
		return doctor_say(d, "probe", HEALTH_OK, NULL, err,
				  "the webhook refuses a broken job");
	if (answer.http == 403)
		return doctor_say(d, "probe", HEALTH_WARN,
				  "ask for the right to create trainingjobs here", err, "%s",
				  answer.msg);
	if (answer.http == 404)
		return 0; /* no CRD, which was said */
	return doctor_say(d, "probe", HEALTH_FAIL, cure(answer.msg), err, "%s", answer.msg);
}

static int deployment(struct doctor *d, const char *name, const struct fetch *f, struct err *err)
{
	int64_t want = json_get_int(json_get(f->json, "spec"), "replicas", 1);
	int64_t have = json_get_int(json_get(f->json, "status"), "availableReplicas", 0);
	const cJSON *pod = json_at(f->json, "spec", "template", "spec", NULL);
	const char *image = json_get_str(json_index(json_get(pod, "containers"), 0), "image", "");
	const char *tag = strrchr(image, ':');

	if (kube_is(&f->err, 404))
		return doctor_say(d, "deployment", HEALTH_FAIL, REINSTALL, err, "%s is missing",
				  name);
	if (f->err.fail != FAIL_NONE)
		return doctor_say(d, "deployment", HEALTH_WARN,
				  "ask for the right to get deployments", err, "%s: %s", name,
				  f->err.msg);
	if (have < 1)
		return doctor_say(d, "deployment", HEALTH_FAIL,
				  "see the pods: kubectl -n " BUNDLE_NAMESPACE " describe pods",
				  err, "%s: none of %" PRId64 " replicas is available", name, want);
	if (tag && !strchr(tag, '/') && !str_eq(tag + 1, ETJOB_RELEASE))
		return doctor_say(d, "deployment", HEALTH_WARN, REINSTALL, err,
				  "%s runs version %s, this plugin is %s", name, tag + 1,
				  ETJOB_RELEASE);
	return doctor_say(d, "deployment", have < want ? HEALTH_WARN : HEALTH_OK,
			  "see the pods: kubectl -n " BUNDLE_NAMESPACE " describe pods", err,
			  "%s: %" PRId64 " of %" PRId64 " replicas available", name, have, want);
}

static int lease(struct doctor *d, const struct fetch *f, struct err *err)
{
	const char *holder = json_get_str(json_get(f->json, "spec"), "holderIdentity", "");
	int64_t at = 0, age;

	if (f->err.fail != FAIL_NONE && !kube_is(&f->err, 404))
		return 0; /* who may not read it is not told */
	if (!*holder || !time_get(json_get_str(json_get(f->json, "spec"), "renewTime", NULL), &at))
		return doctor_say(d, "controller", HEALTH_FAIL,
				  "kubectl -n " BUNDLE_NAMESPACE " logs deploy/" BUNDLE_CONTROLLER,
				  err, "no controller leads: nothing happens to jobs");
	age = clock_wall_ms(d->ctx->clock) - at;
	if (age > LEASE_STALE_MS)
		return doctor_say(d, "controller", HEALTH_FAIL,
				  "kubectl -n " BUNDLE_NAMESPACE " logs deploy/" BUNDLE_CONTROLLER,
				  err, "the controller %s was last alive %" PRId64 " s ago", holder,
				  age / 1000);
	return doctor_say(d, "controller", HEALTH_OK, NULL, err, "%s leads", holder);
}

int doctor_controller(struct doctor *d, struct err *err)
{
	struct fetch f[] = {
		{ .res = &kube_deployments, .ns = BUNDLE_NAMESPACE, .name = BUNDLE_WEBHOOK },
		{ .res = &kube_deployments, .ns = BUNDLE_NAMESPACE, .name = BUNDLE_CONTROLLER },
		{ .res = &kube_leases, .ns = BUNDLE_NAMESPACE, .name = BUNDLE_CONTROLLER },
	};
	int rc = fetch_all(d->ctx, f, ARRAY_LEN(f), err);

	if (rc == 0)
		rc = deployment(d, BUNDLE_WEBHOOK, &f[0], err);
	if (rc == 0)
		rc = deployment(d, BUNDLE_CONTROLLER, &f[1], err);
	if (rc == 0)
		rc = lease(d, &f[2], err);
	fetch_release(f, ARRAY_LEN(f));
	return rc;
}
