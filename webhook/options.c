/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/options.h"

#define DAY_S INT64_C(86400)
#define THREADS_MAX 64
#define HELP_WIDTH 100

const struct options options_defaults = {
	.listen = ":9443",
	.health_listen = ":8081",
	.drain_s = 5,
	.inject_mount = true,
	.unique_names = "cluster",
	.service = "etjob-webhook",
	.secret = "etjob-webhook-certs",
	.config = "etjob-webhook",
	.cert_life_s = 90 * DAY_S,
	.ca_life_s = 3650 * DAY_S,
	.ca_settle_s = 120,
	.ca_keep_s = 3600,
	.log_format = "text",
	.log_level = "info",
};

const struct opt options_table[] = {
	OPT_GROUP("Serving"),
	OPT_STR(struct options, listen, 0, "listen", "[HOST]:PORT",
		"address of the HTTPS port that the API server calls"),
	OPT_STR(struct options, health_listen, 0, "health-listen", "[HOST]:PORT",
		"address of the plain port with /healthz, /readyz and /metrics"),
	OPT_INT(struct options, threads, 0, "threads", "N", 0, THREADS_MAX,
		"threads that answer requests; 0 is one a processor, 4 at most"),
	OPT_SECS(struct options, drain_s, 0, "drain",
		 "after SIGTERM keep serving this long, until clients have gone elsewhere"),
	OPT_GROUP("What it does to jobs"),
	OPT_BOOL(struct options, inject_mount, 0, "inject-mount",
		 "mount the discovery script into launchers; false beside et-operator, which does"),
	OPT_ENUM(struct options, unique_names, 0, "unique-names", "cluster|namespace",
		 "where a job's name must be unique"),
	OPT_GROUP("Certificates"),
	OPT_STR(struct options, cert_file, 0, "cert-file", "FILE",
		"serve this certificate (PEM), read again when it changes; default: self-managed"),
	OPT_STR(struct options, key_file, 0, "key-file", "FILE", "its private key (PEM)"),
	OPT_STR(struct options, service, 0, "service", "NAME",
		"the Service that self-managed certificates are for"),
	OPT_STR(struct options, namespace_, 'n', "namespace", "NAMESPACE",
		"namespace of Service and Secret; default: POD_NAMESPACE, else etjob-system"),
	OPT_STR(struct options, secret, 0, "secret", "NAME",
		"the Secret in which replicas share CA and certificate"),
	OPT_STR(struct options, config, 0, "webhook-configuration", "NAME",
		"name of both webhook configurations that get the CA bundle"),
	OPT_LIST(struct options, dns, 0, "dns", "NAME",
		 "one more DNS name or IP address for the certificate; may be repeated"),
	OPT_SECS(struct options, cert_life_s, 0, "cert-life",
		 "life of a serving certificate, renewed at two thirds"),
	OPT_SECS(struct options, ca_life_s, 0, "ca-life",
		 "life of the CA, rolled over at two thirds"),
	OPT_SECS(struct options, ca_settle_s, 0, "ca-settle",
		 "time that API servers get to see a new CA before it signs"),
	OPT_SECS(struct options, ca_keep_s, 0, "ca-keep",
		 "time that an old CA stays after the new one signed"),
	OPT_GROUP("Cluster"),
	OPT_STR(struct options, kubeconfig, 0, "kubeconfig", "FILE",
		"how to reach the API server; default: in-cluster, else as kubectl"),
	OPT_STR(struct options, context, 0, "context", "NAME", "context of the kubeconfig"),
	OPT_GROUP("Other"),
	OPT_ENUM(struct options, log_format, 0, "log-format", "text|json", "format of log lines"),
	OPT_ENUM(struct options, log_level, 0, "log-level", "debug|info|warn|error",
		 "least severe lines to log"),
	OPT_BOOL(struct options, help, 'h', "help", "print this and exit"),
	OPT_BOOL(struct options, version, 0, "version", "print the version and exit"),
	OPT_END,
};

const struct certs_options certs_options_defaults = {
	.cert_life_s = 365 * DAY_S,
	.ca_life_s = 3650 * DAY_S,
};

const struct opt certs_options_table[] = {
	OPT_STR(struct certs_options, out, 'o', "out", "DIR",
		"where ca.crt, ca.key, tls.crt and tls.key are written (required)"),
	OPT_LIST(struct certs_options, dns, 0, "dns", "NAME",
		 "DNS name or IP address of the server; may be repeated (required)"),
	OPT_SECS(struct certs_options, cert_life_s, 0, "cert-life", "life of the certificate"),
	OPT_SECS(struct certs_options, ca_life_s, 0, "ca-life", "life of the CA"),
	OPT_BOOL(struct certs_options, help, 'h', "help", "print this and exit"),
	OPT_END,
};

void options_help(bool certs, struct buf *out)
{
	if (certs) {
		buf_str(out,
			"Make a CA and a server certificate without a cluster.\n\n"
			"Usage:\n  etjob-webhook certs --out DIR --dns NAME... [flags]\n\nFlags:\n");
		opt_help(certs_options_table, &certs_options_defaults, HELP_WIDTH, out);
		return;
	}
	buf_str(out, "Admission webhook for elastic Horovod jobs: refuses what can not work, adds "
		     "what a job needs.\n\n"
		     "Usage:\n  etjob-webhook [flags]\n"
		     "  etjob-webhook certs --out DIR --dns NAME...   make certificates offline\n");
	opt_help(options_table, &options_defaults, HELP_WIDTH, out);
}

int options_check(const struct options *o, struct err *err)
{
	if (!o->cert_file != !o->key_file)
		return err_set(err, FAIL_USAGE, "--cert-file and --key-file go together");
	if (o->cert_life_s < 60 || o->ca_life_s < 60)
		return err_set(err, FAIL_USAGE, "--cert-life and --ca-life must be at least 60s");
	/* Other replicas need a moment to serve the new certificate. */
	if (o->ca_keep_s < 30)
		return err_set(err, FAIL_USAGE, "--ca-keep must be at least 30s");
	if (o->cert_life_s > o->ca_life_s)
		return err_set(err, FAIL_USAGE, "--cert-life must not be more than --ca-life");
	return 0;
}
