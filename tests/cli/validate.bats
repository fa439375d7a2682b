#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# validate: files, folders, lists and reports. No server.

load common

setup_file() {
	clean_environment
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

bad_job() {
	cat <<'YAML'
apiVersion: kai.alibabacloud.com/v1alpha1
kind: TrainingJob
metadata:
  name: Bad_Name
spec:
  etReplicaSpec: {}
  etReplicaSpecs:
    launcher:
      replicas: 1
      template: {spec: {containers: [{name: et, image: i}]}}
    worker:
      replicas: 3
      minReplicas: 4
      template:
        spec:
          containers: [{name: et}]
YAML
}

ERRORS=':4:3: error: metadata.name: "Bad_Name" is no DNS label: use lower case letters, digits and "-", with a letter first and no "-" at the end
:13:7: error: spec.etReplicaSpecs.worker.minReplicas: 4 is more than replicas (3): lower it or start with more workers
:16:24: error: spec.etReplicaSpecs.worker.template.spec.containers[0].image: is missing: give the image to run
:6:3: error: spec.etReplicaSpec: is not a field of the API: did you mean "etReplicaSpecs"?'

@test "each error stands at its place, an unknown field has a suggestion" {
	bad_job >job.yaml
	etjob 1 validate -f job.yaml
	out_is "$(sed 's/^/job.yaml/' <<<"$ERRORS")"
	err_is '1 object in 1 file, 4 errors'
}

@test "standard input, several documents, other APIs and lists" {
	etjob 1 validate -f - < <(printf 'apiVersion: v1\nkind: ConfigMap\n---\n'; bad_job)
	same first "${lines[0]}" '<stdin>:7:3: error: metadata.name: "Bad_Name" is no DNS label: use lower case letters, digits and "-", with a letter first and no "-" at the end'
	etjob 1 validate -f - < <(printf 'apiVersion: v1\nkind: List\nitems:\n- '; bad_job | sed '2,$s/^/  /')
	same first "${lines[0]}" '<stdin>:7:5: error: metadata.name: "Bad_Name" is no DNS label: use lower case letters, digits and "-", with a letter first and no "-" at the end'
}

@test "JSON has places too" {
	"$ETJOB" template n --image=i --workers=3 -o json run | sed 's/"minReplicas": 1/"minReplicas": 4/' >job.json
	etjob 1 validate -f job.json
	same error "$output" "job.json:$(grep -n minReplicas job.json | cut -d: -f1):17: error: spec.etReplicaSpecs.worker.minReplicas: 4 is more than replicas (3): lower it or start with more workers"
}

@test "a folder: all manifests below it, foreign files passed over" {
	mkdir -p m/deep
	bad_job >m/deep/job.yaml
	"$ETJOB" template n --image=i run >m/good.yml
	printf '{{ helm }}\n' >m/template.yaml
	printf '{"a": 1}\n' >m/data.json
	printf 'kai.alibabacloud.com: {' >m/deep/notes.txt
	etjob 1 validate m
	out_is "$(sed 's,^,m/deep/job.yaml,' <<<"$ERRORS")"
	err_is '2 objects in 4 files, 4 errors'
}

@test "a good file says so, a file that is not there is an error" {
	"$ETJOB" template n --image=i run >good.yaml
	etjob 0 validate good.yaml
	out_is ''
	err_is '1 object in 1 file, 0 errors'
	etjob 1 validate -f nope.yaml
	err_is 'error: cannot read "nope.yaml": No such file or directory'
	etjob 2 validate
	err_is 'error: validate needs -f FILE, a folder, or - for standard input'
}

@test "syntax errors and duplicate keys have a line" {
	printf 'a: b\nc: [\n' >x.yaml
	etjob 1 validate -f x.yaml
	[[ $output =~ ^x.yaml:[23]:[0-9]+:\ error:\  ]]
	printf 'apiVersion: kai.alibabacloud.com/v1alpha1\nkind: ScaleOut\nkind: ScaleIn\n' >y.yaml
	etjob 1 validate -f y.yaml
	[[ $output == y.yaml:3:*kind* ]]
}

@test "scalers are checked as far as a file tells" {
	printf 'apiVersion: kai.alibabacloud.com/v1alpha1\nkind: ScaleOut\nmetadata: {name: s}\nspec:\n  selector: {name: j}\n  toAdd: {count: 0}\n' >s.yaml
	etjob 1 validate -f s.yaml
	[[ ${lines[0]} == 's.yaml:6:11: error: spec.toAdd.count: '* ]]
}

@test "--strict makes warnings errors" {
	"$ETJOB" template n --image=i 'horovodrun x' >w.yaml 2>/dev/null
	etjob 0 validate -f w.yaml
	[[ $output == *': warning: '*discover_hosts.sh* ]]
	etjob 1 validate -f w.yaml --strict
}

@test "reports: JSON, JUnit and SARIF" {
	bad_job >job.yaml
	etjob 1 validate -f job.yaml -o json
	same json "$(jq -c '[.errors, .files, (.findings[1] | [.file, .line, .column, .rule, .severity, .object])]' <<<"$output")" \
		'[4,1,["job.yaml",13,7,"min-above-replicas","error","TrainingJob/Bad_Name"]]'
	etjob 1 validate -f job.yaml -o junit
	same junit "$(python3 -c 'import sys, xml.etree.ElementTree as e; s = e.fromstring(sys.argv[1]).find("testsuite"); print(s.get("tests"), s.get("failures"), len(s.findall("testcase/failure")))' "$output")" '1 1 4'
	etjob 1 validate -f job.yaml -o sarif
	same sarif "$(jq -c '[.version, .runs[0].tool.driver.name, (.runs[0].results | length), .runs[0].results[1].locations[0].physicalLocation]' <<<"$output")" \
		'["2.1.0","kubectl-etjob",4,{"artifactLocation":{"uri":"job.yaml"},"region":{"startColumn":7,"startLine":13}}]'
	same rules "$(jq -c '[.runs[0].results[].ruleId] - [.runs[0].tool.driver.rules[].id]' <<<"$output")" '[]'
}

@test "the pre-commit hook passes over what is not ours" {
	printf '{{ helm }}\n' >template.yaml
	printf '{"a": 1}\n' >data.json
	bad_job >job.yaml
	etjob 0 validate --ignore-foreign template.yaml data.json
	etjob 1 validate --ignore-foreign template.yaml data.json job.yaml
	same errors "${#lines[@]}" 4
	etjob 1 validate template.yaml
	grep -q -- 'entry: kubectl-etjob validate --ignore-foreign$' "$TOP/.pre-commit-hooks.yaml"
}

@test "the sum comes after the findings" {
	bad_job >job.yaml
	run "$ETJOB" validate -f job.yaml
	same last "${lines[4]}" '1 object in 1 file, 4 errors'
}

@test "SARIF as its schema wants it" {
	[ -n "${SARIF_SCHEMA:-}" ] || skip 'SARIF_SCHEMA names no schema file (sarif-schema-2.1.0.json)'
	bad_job >job.yaml
	printf 'a: [' >broken.yaml
	"$ETJOB" validate -f job.yaml -f broken.yaml -o sarif >out.sarif 2>/dev/null || true
	python3 - "$SARIF_SCHEMA" out.sarif <<-'PYTHON'
		import json, sys
		import jsonschema
		jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))
	PYTHON
}
