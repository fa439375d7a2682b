// SPDX-License-Identifier: Apache-2.0

// A minimal webhook in Go for comparison: the same work on a TrainingJob (the main rules, and the
// injection of environment and mount), once as operators are usually written (controller-runtime,
// typed objects, PatchResponseFromRaw), once on plain maps of encoding/json.
//
//	peer -mode=typed|maps -listen=127.0.0.1:PORT -cert=FILE -key=FILE
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const maxBody = 7 << 20

// --- typed --------------------------------------------------------------------------------------

type replicaSpec struct {
	Replicas      *int32                 `json:"replicas,omitempty"`
	MinReplicas   *int32                 `json:"minReplicas,omitempty"`
	MaxReplicas   *int32                 `json:"maxReplicas,omitempty"`
	RestartPolicy string                 `json:"restartPolicy,omitempty"`
	Template      corev1.PodTemplateSpec `json:"template"`
}

type trainingJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
		ReplicaSpecs   struct {
			Launcher *replicaSpec `json:"launcher,omitempty"`
			Worker   *replicaSpec `json:"worker,omitempty"`
		} `json:"etReplicaSpecs"`
	} `json:"spec"`
}

type typedHandler struct{}

func value(p *int32, or int32) int32 {
	if p == nil {
		return or
	}
	return *p
}

func gpus(c corev1.Container) (n int64) {
	for name, q := range c.Resources.Limits {
		if strings.HasSuffix(string(name), "/gpu") {
			n += q.Value()
		}
	}
	return n
}

func checkPod(path string, t *corev1.PodTemplateSpec) (faults []string) {
	names := map[string]bool{}
	if len(t.Spec.Containers) == 0 {
		faults = append(faults, path+".containers: is empty")
	}
	for i, c := range append(append([]corev1.Container{}, t.Spec.InitContainers...), t.Spec.Containers...) {
		at := fmt.Sprintf("%s.containers[%d]", path, i)
		if c.Name == "" || names[c.Name] {
			faults = append(faults, at+".name: missing or twice")
		}
		names[c.Name] = true
		if c.Image == "" {
			faults = append(faults, at+".image: is missing")
		}
		env, mounts, ports := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for j, e := range c.Env {
			if e.Name == "" || env[e.Name] {
				faults = append(faults, fmt.Sprintf("%s.env[%d].name: missing or twice", at, j))
			}
			env[e.Name] = true
			switch e.Name {
			case "workers", "gpus", "minWorkers", "maxWorkers":
				if _, err := strconv.Atoi(e.Value); err != nil {
					faults = append(faults, fmt.Sprintf("%s.env[%d].value: no number", at, j))
				}
			}
		}
		for j, m := range c.VolumeMounts {
			p := strings.TrimRight(m.MountPath, "/")
			if p == "" || mounts[p] {
				faults = append(faults, fmt.Sprintf("%s.volumeMounts[%d]: missing or twice", at, j))
			}
			mounts[p] = true
		}
		for j, p := range c.Ports {
			if p.Name != "" && ports[p.Name] {
				faults = append(faults, fmt.Sprintf("%s.ports[%d].name: twice", at, j))
			}
			ports[p.Name] = true
		}
	}
	volumes := map[string]bool{}
	for i, v := range t.Spec.Volumes {
		if v.Name == "" || volumes[v.Name] {
			faults = append(faults, fmt.Sprintf("%s.volumes[%d].name: missing or twice", path, i))
		}
		volumes[v.Name] = true
	}
	return faults
}

func injectEnv(c *corev1.Container, values [4][2]string) {
	for _, v := range values {
		has := false
		for _, e := range c.Env {
			has = has || e.Name == v[0]
		}
		if !has {
			c.Env = append(c.Env, corev1.EnvVar{Name: v[0], Value: v[1]})
		}
	}
}

func (typedHandler) Handle(_ context.Context, req admission.Request) admission.Response {
	var job trainingJob
	if err := json.Unmarshal(req.Object.Raw, &job); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	launcher, worker := job.Spec.ReplicaSpecs.Launcher, job.Spec.ReplicaSpecs.Worker
	if launcher == nil || worker == nil {
		return admission.Denied("spec.etReplicaSpecs: launcher and worker are required")
	}
	replicas := value(worker.Replicas, 1)
	minimum, maximum := value(worker.MinReplicas, replicas), value(worker.MaxReplicas, 1000)
	faults := append(checkPod("launcher", &launcher.Template), checkPod("worker", &worker.Template)...)
	if minimum < 1 || minimum > replicas || replicas > maximum || value(launcher.Replicas, 1) != 1 {
		faults = append(faults, "spec.etReplicaSpecs: replicas are out of bounds")
	}
	if len(faults) > 0 {
		return admission.Denied(strings.Join(faults, "; "))
	}
	values := [4][2]string{
		{"workers", strconv.Itoa(int(replicas))},
		{"gpus", strconv.FormatInt(gpus(worker.Template.Spec.Containers[0]), 10)},
		{"minWorkers", strconv.Itoa(int(minimum))},
		{"maxWorkers", strconv.Itoa(int(maximum))},
	}
	for _, t := range []*corev1.PodTemplateSpec{&launcher.Template, &worker.Template} {
		for i := range t.Spec.Containers {
			injectEnv(&t.Spec.Containers[i], values)
		}
	}
	mode := int32(0o755)
	spec := &launcher.Template.Spec
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "etjob-config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: job.Name + "-config"},
			DefaultMode:          &mode}}})
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts,
		corev1.VolumeMount{Name: "etjob-config", MountPath: "/etc/edl", ReadOnly: true})
	after, err := json.Marshal(&job)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, after)
}

// --- plain maps ---------------------------------------------------------------------------------

type dict = map[string]any

func at(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(dict)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func unique(items []any, key string) bool {
	seen := map[string]bool{}
	for _, it := range items {
		name, ok := at(it, key).(string)
		name = strings.TrimRight(name, "/")
		if !ok || name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func number(v any, or int64) int64 {
	n, ok := v.(json.Number)
	if !ok {
		return or
	}
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}

func podFaults(spec any) bool {
	for _, c := range list(at(spec, "containers")) {
		if at(c, "image") == nil || !unique(list(at(c, "env")), "name") ||
			!unique(list(at(c, "volumeMounts")), "mountPath") {
			return true
		}
	}
	return !unique(list(at(spec, "containers")), "name") || !unique(list(at(spec, "volumes")), "name")
}

func mapsReview(body []byte) ([]byte, error) {
	var review struct {
		metav1.TypeMeta `json:",inline"`
		Request         struct {
			UID    string          `json:"uid"`
			Object json.RawMessage `json:"object"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	var job dict
	d := json.NewDecoder(strings.NewReader(string(review.Request.Object)))
	d.UseNumber()
	if err := d.Decode(&job); err != nil {
		return nil, err
	}
	specs := at(job, "spec", "etReplicaSpecs")
	replicas := number(at(specs, "worker", "replicas"), 1)
	minimum := number(at(specs, "worker", "minReplicas"), replicas)
	maximum := number(at(specs, "worker", "maxReplicas"), 1000)
	response := dict{"uid": review.Request.UID, "allowed": true}
	var ops []dict
	bad := minimum < 1 || minimum > replicas || replicas > maximum
	for _, role := range []string{"launcher", "worker"} {
		spec := at(specs, role, "template", "spec")
		bad = bad || podFaults(spec)
		for i, c := range list(at(spec, "containers")) {
			path := fmt.Sprintf("/spec/etReplicaSpecs/%s/template/spec/containers/%d/env", role, i)
			if at(c, "env") == nil {
				ops = append(ops, dict{"op": "add", "path": path, "value": []any{}})
			}
			for name, n := range map[string]int64{"workers": replicas, "minWorkers": minimum, "maxWorkers": maximum} {
				ops = append(ops, dict{"op": "add", "path": path + "/-",
					"value": dict{"name": name, "value": strconv.FormatInt(n, 10)}})
			}
		}
	}
	if bad {
		response["allowed"] = false
	} else {
		patch, err := json.Marshal(ops)
		if err != nil {
			return nil, err
		}
		response["patch"], response["patchType"] = patch, "JSONPatch"
	}
	return json.Marshal(dict{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

func serveMaps(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil {
		body, err = mapsReview(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

func main() {
	mode := flag.String("mode", "typed", "typed or maps")
	listen := flag.String("listen", "127.0.0.1:0", "address")
	cert := flag.String("cert", "", "certificate file")
	key := flag.String("key", "", "key file")
	flag.Parse()
	scheme := runtime.NewScheme()
	if err := admissionv1.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	if *mode == "maps" {
		mux.HandleFunc("/mutate", serveMaps)
	} else {
		hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: typedHandler{}},
			admission.StandaloneOptions{})
		if err != nil {
			log.Fatal(err)
		}
		mux.Handle("/mutate", hook)
	}
	server := &http.Server{Addr: *listen, Handler: mux,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
	log.Fatal(server.ListenAndServeTLS(*cert, *key))
}
