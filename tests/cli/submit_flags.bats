#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What each flag of submit puts into the object. template makes the same object without a server.

load common

setup_file() {
	clean_environment
}

# made JQ: compact answers about the job that $output holds.
made() {
	jq -c "$1" <<<"$output"
}

@test "--image" {
	etjob 0 template n --image=i -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].image]')" '["i","i"]'
}

@test "--workers" {
	etjob 0 template n --image=i --workers=4 -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.replicas')" '4'
}

@test "--workers left out is one, at least one, at most 1000" {
	etjob 0 template n --image=i -o json run
	same object "$(made '.spec.etReplicaSpecs.worker | del(.template)')" '{"maxReplicas":1000,"minReplicas":1,"replicas":1}'
}

@test "--min-workers" {
	etjob 0 template n --image=i --workers=4 --min-workers=2 -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.minReplicas')" '2'
}

@test "--max-workers" {
	etjob 0 template n --image=i --max-workers=9 -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.maxReplicas')" '9'
}

@test "the four variables" {
	etjob 0 template n --image=i --workers=3 --min-workers=2 --max-workers=9 --gpus=2 -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].env | map(select(.name|test("^(workers|gpus|minWorkers|maxWorkers)$"))) | map("\(.name)=\(.value)") | sort | join(" ")]')" '["gpus=2 maxWorkers=9 minWorkers=2 workers=3","gpus=2 maxWorkers=9 minWorkers=2 workers=3"]'
}

@test "--gpus is for the workers alone" {
	etjob 0 template n --image=i --gpus=2 -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].resources]')" '[null,{"limits":{"nvidia.com/gpu":"2"},"requests":{"nvidia.com/gpu":"2"}}]'
}

@test "without GPUs the node's are hidden" {
	etjob 0 template n --image=i -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].env[] | select(.name=="NVIDIA_VISIBLE_DEVICES").value]')" '["void","void"]'
}

@test "--cpu and --memory are for both" {
	etjob 0 template n --image=i --cpu=500m --memory=4Gi -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].resources]')" '[{"limits":{"cpu":"500m","memory":"4Gi"},"requests":{"cpu":"500m","memory":"4Gi"}},{"limits":{"cpu":"500m","memory":"4Gi"},"requests":{"cpu":"500m","memory":"4Gi"}}]'
}

@test "--device" {
	etjob 0 template n --image=i --device=amd.com/gpu=1 -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].resources]')" '[null,{"limits":{"amd.com/gpu":"1"},"requests":{"amd.com/gpu":"1"}}]'
}

@test "--working-dir" {
	etjob 0 template n --image=i --working-dir=/w -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].workingDir]')" '["/w","/w"]'
}

@test "--shell" {
	etjob 0 template n --image=i --shell=bash -o json run
	same object "$(made '.spec.etReplicaSpecs.launcher.template.spec.containers[0].command')" '["bash","-c","run"]'
}

@test "--env keeps commas and equals signs" {
	etjob 0 template n --image=i -e A=1,2 --env B=x=y -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].env | map(select(.name|test("^[AB]$"))) | from_entries]')" '[{"A":"1,2","B":"x=y"},{"A":"1,2","B":"x=y"}]'
}

@test "--env with a reference stays text" {
	etjob 0 template n --image=i -e A='$(HOME)' -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].env[] | select(.name=="A").value]')" '["$$(HOME)","$$(HOME)"]'
}

@test "--label" {
	etjob 0 template n --image=i -l team=v --label x=y -o json run
	same object "$(made '[.metadata.labels, .spec.etReplicaSpecs[].template.metadata.labels | [.team, .x]]')" '[["v","y"],["v","y"],["v","y"]]'
}

@test "--annotation" {
	etjob 0 template n --image=i -a k=v -o json run
	same object "$(made '[.metadata.annotations, .spec.etReplicaSpecs[].template.metadata.annotations]')" '[{"k":"v"},{"k":"v"},{"k":"v"}]'
}

@test "--launcher-annotation" {
	etjob 0 template n --image=i --launcher-annotation k=v -o json run
	same object "$(made '[.metadata.annotations, .spec.etReplicaSpecs[].template.metadata.annotations]')" '[null,{"k":"v"},null]'
}

@test "--worker-annotation" {
	etjob 0 template n --image=i --worker-annotation k=v -o json run
	same object "$(made '[.metadata.annotations, .spec.etReplicaSpecs[].template.metadata.annotations]')" '[null,null,{"k":"v"}]'
}

@test "--selector is for the workers" {
	etjob 0 template n --image=i --selector zone=a -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.nodeSelector]')" '[null,{"zone":"a"}]'
}

@test "--launcher-selector" {
	etjob 0 template n --image=i --launcher-selector zone=a -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.nodeSelector]')" '[{"zone":"a"},null]'
}

@test "--toleration of a key" {
	etjob 0 template n --image=i --toleration gpu -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.tolerations]')" '[[{"key":"gpu","operator":"Exists"}],[{"key":"gpu","operator":"Exists"}]]'
}

@test "--toleration of a value and effect" {
	etjob 0 template n --image=i --toleration a=b:NoSchedule -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.template.spec.tolerations')" '[{"effect":"NoSchedule","key":"a","operator":"Equal","value":"b"}]'
}

@test "--toleration of everything" {
	etjob 0 template n --image=i --toleration all -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.template.spec.tolerations')" '[{"operator":"Exists"}]'
}

@test "--data" {
	etjob 0 template n --image=i -d claim:/data -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec | (.volumes[] | select(.name=="data-0")), (.containers[0].volumeMounts[] | select(.name=="data-0"))]')" '[{"name":"data-0","persistentVolumeClaim":{"claimName":"claim"}},{"mountPath":"/data","name":"data-0"},{"name":"data-0","persistentVolumeClaim":{"claimName":"claim"}},{"mountPath":"/data","name":"data-0"}]'
}

@test "--data-dir" {
	etjob 0 template n --image=i --data-dir /host:/in --data-dir /same -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.template.spec | [.volumes[] | select(.hostPath).hostPath.path], [.containers[0].volumeMounts[].mountPath]')" '["/host","/same"]
["/dev/shm","/in","/same"]'
}

@test "--priority" {
	etjob 0 template n --image=i -p high -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.priorityClassName]')" '["high","high"]'
}

@test "--image-pull-secret" {
	etjob 0 template n --image=i --image-pull-secret a --image-pull-secret b -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.imagePullSecrets]')" '[[{"name":"a"},{"name":"b"}],[{"name":"a"},{"name":"b"}]]'
}

@test "--image-pull-policy" {
	etjob 0 template n --image=i --image-pull-policy=Always -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.containers[0].imagePullPolicy]')" '["Always","Always"]'
}

@test "--job-restart-policy" {
	etjob 0 template n --image=i --job-restart-policy=OnFailure -o json run
	same object "$(made '.spec.restartPolicy')" '"OnFailure"'
}

@test "--worker-restart-policy" {
	etjob 0 template n --image=i --worker-restart-policy=Always -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.restartPolicy')" '"Always"'
}

@test "--job-backoff-limit keeps 0" {
	etjob 0 template n --image=i --job-backoff-limit=0 -o json run
	same object "$(made '.spec.backoffLimit')" '0'
}

@test "--job-backoff-limit left out" {
	etjob 0 template n --image=i -o json run
	same object "$(made '.spec.backoffLimit')" '6'
}

@test "--ssh-secret" {
	etjob 0 template n --image=i --ssh-secret=keys -o json run
	same object "$(made '.metadata.annotations')" '{"arena.kubeflow.org/ssh-secret":"keys"}'
}

@test "--rdma" {
	etjob 0 template n --image=i --rdma -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.template.spec.containers[0] | [.resources.limits, .securityContext]')" '[{"rdma/hca":"1"},{"capabilities":{"add":["IPC_LOCK"]}}]'
}

@test "--gang counts the launcher" {
	etjob 0 template n --image=i --gang --workers=3 -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.metadata.labels | [.["pod-group.scheduling.sigs.k8s.io/name"], .["pod-group.scheduling.sigs.k8s.io/min-available"]]]')" '[["n","4"],["n","4"]]'
}

@test "--queue" {
	etjob 0 template n --image=i --queue -o json run
	same object "$(made '.metadata.annotations')" '{"scheduling.x-k8s.io/suspend":"true"}'
}

@test "--scheduler" {
	etjob 0 template n --image=i --scheduler=volcano -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec.schedulerName]')" '["volcano","volcano"]'
}

@test "--hostNetwork" {
	etjob 0 template n --image=i --hostNetwork -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec | [.hostNetwork, .dnsPolicy]]')" '[[true,"ClusterFirstWithHostNet"],[true,"ClusterFirstWithHostNet"]]'
}

@test "--hostIPC and --hostPID" {
	etjob 0 template n --image=i --hostIPC --hostPID -o json run
	same object "$(made '[.spec.etReplicaSpecs[].template.spec | [.hostIPC, .hostPID]]')" '[[true,true],[true,true]]'
}

@test "--sync-mode git" {
	etjob 0 template n --image=i --sync-mode=git --sync-source=https://git.example/a/b.git --sync-image=g -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.template.spec | .initContainers, [.containers[0].volumeMounts[] | select(.name=="code-sync").mountPath]')" '[{"env":[{"name":"GIT_SYNC_REPO","value":"https://git.example/a/b.git"},{"name":"GIT_SYNC_DEST","value":"b"},{"name":"GIT_SYNC_ROOT","value":"/code"},{"name":"GIT_SYNC_ONE_TIME","value":"true"}],"image":"g","name":"init-code","volumeMounts":[{"mountPath":"/code","name":"code-sync"}]}]
["/root/code"]'
}

@test "--sync-mode rsync" {
	etjob 0 template n --image=i --sync-mode=rsync --sync-source=h::m/x --sync-image=r --working-dir=/w -o json run
	same object "$(made '.spec.etReplicaSpecs.launcher.template.spec | .initContainers[0].command, [.containers[0].volumeMounts[] | select(.name=="code-sync").mountPath], (.volumes[] | select(.name=="code-sync"))')" '["rsync","-avP","h::m/x","/code"]
["/w/code"]
{"emptyDir":{},"name":"code-sync"}'
}

@test "--spot-instance and --max-wait-time" {
	etjob 0 template n --image=i --spot-instance --max-wait-time=1h -o json run
	same object "$(made '.metadata.annotations')" '{"job-supervisor.kube-ai.io/max-wait-time":"3600","job-supervisor.kube-ai.io/spot-instance":"true"}'
}

@test "--shm-size" {
	etjob 0 template n --image=i --shm-size=8Gi -o json run
	same object "$(made '.spec.etReplicaSpecs.worker.template.spec | .volumes[0], .containers[0].volumeMounts[0]')" '{"emptyDir":{"medium":"Memory","sizeLimit":"8Gi"},"name":"dshm"}
{"mountPath":"/dev/shm","name":"dshm"}'
}

@test "--shm-size left out" {
	etjob 0 template n --image=i -o json run
	same object "$(made '.spec.etReplicaSpecs.launcher.template.spec.volumes[0].emptyDir.sizeLimit')" '"2Gi"'
}

@test "--slots-per-worker" {
	etjob 0 template n --image=i --slots-per-worker=4 -o json run
	same object "$(made '.spec.slotsPerWorker')" '4'
}

@test "--start-policy" {
	etjob 0 template n --image=i --start-policy=Minimum -o json run
	same object "$(made '.spec.startPolicy')" '"Minimum"'
}

@test "--ttl" {
	etjob 0 template n --image=i --ttl=7d -o json run
	same object "$(made '.spec.ttlSecondsAfterFinished')" '604800'
}

@test "--active-deadline" {
	etjob 0 template n --image=i --active-deadline=90 -o json run
	same object "$(made '.spec.activeDeadlineSeconds')" '90'
}

@test "what arena looks for" {
	etjob 0 template n --image=i -o json run
	same object "$(made '[.metadata.labels, .spec.etReplicaSpecs[].template.metadata.labels | [.app, .release, .createdBy]]')" '[["etjob","n","etjob"],["etjob","n","etjob"],["etjob","n","etjob"]]'
}

@test "the launcher's own label" {
	etjob 0 template n --image=i -o json run
	same object "$(made '.spec.etReplicaSpecs.launcher.template.metadata.labels["master-pod-name"]')" '"n-launcher"'
}

@test "cleanPodPolicy" {
	etjob 0 template n --image=i -o json run
	same object "$(made '.spec.cleanPodPolicy')" '"Running"'
}

@test "older spellings" {
	etjob 0 template n --image=i --minWorkers=2 --maxWorkers=3 --workers=2 --workingDir=/w --dataDir=/d --syncMode=git --syncSource=u --syncImage=g --sshSecret=s -o json run
	same object "$(made '[.spec.etReplicaSpecs.worker.minReplicas, .spec.etReplicaSpecs.worker.maxReplicas, .metadata.annotations["arena.kubeflow.org/ssh-secret"], .spec.etReplicaSpecs.worker.template.spec.initContainers[0].image, .spec.etReplicaSpecs.worker.template.spec.containers[0].workingDir]')" '[2,3,"s","g","/w"]'
}

@test "--env-file: comments, quotes kept, export, DOS line ends" {
	printf '# no\n\nA=1 2\r\nexport B="q"\n  C=\n' >"$BATS_TEST_TMPDIR/env"
	etjob 0 template n --image=i --env-file="$BATS_TEST_TMPDIR/env" -o json run
	same env "$(made '.spec.etReplicaSpecs.worker.template.spec.containers[0].env | map(select(.name|test("^[ABC]$"))) | from_entries')" '{"A":"1 2","B":"\"q\"","C":""}'
}

@test "--config-file: a ConfigMap, mounted as the file itself" {
	printf 'a\0b' >"$BATS_TEST_TMPDIR/bin"
	etjob 0 template n --image=i --config-file="$BATS_TEST_TMPDIR/bin:/etc/c/bin" -o json run
	same map "$(made '.items[1] | [.kind, .metadata.name, .binaryData]')" '["ConfigMap","n-files",{"file-0":"YQBi"}]'
	same mount "$(made '.items[0].spec.etReplicaSpecs[].template.spec | [(.volumes[] | select(.name=="config-files")), (.containers[0].volumeMounts[] | select(.name=="config-files"))]' | sort -u)" \
		'[{"configMap":{"name":"n-files"},"name":"config-files"},{"mountPath":"/etc/c/bin","name":"config-files","subPath":"file-0"}]'
}

@test "--tensorboard: Deployment and Service beside the launcher, with the log volume" {
	etjob 0 template n --image=i --tensorboard --tensorboard-image=t --logdir=/logs -o json run
	same kinds "$(made '[.items[] | "\(.kind)/\(.metadata.name)"]')" '["TrainingJob/n","Deployment/n-tensorboard","Service/n-tensorboard"]'
	same container "$(made '.items[1].spec.template.spec.containers[0] | [.image, .command, .volumeMounts]')" \
		'["t",["tensorboard","--logdir=/logs","--host=0.0.0.0"],[{"mountPath":"/logs","name":"training-logs"}]]'
	same affinity "$(made '.items[1].spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels')" \
		'{"training-job-name":"n","training-job-role":"launcher"}'
	same port "$(made '.items[2].spec.ports[0].port')" 6006
	same job "$(made '[.items[0].spec.etReplicaSpecs[].template.spec.containers[0].volumeMounts[] | select(.name=="training-logs").mountPath]')" '["/logs","/logs"]'
}

@test "--tensorboard reads a log directory that lies in the data" {
	etjob 0 template n --image=i --tensorboard --logdir=/data/logs -d claim:/data -o json run
	same mounts "$(made '.items[1].spec.template.spec | [.volumes[].name], [.containers[0].volumeMounts[].mountPath]')" '["data-0"]
["/data"]'
}

@test "any command survives" {
	local text
	for text in 'a "b" '"'c'"' : d # e' $'line 1\nline 2\n' '-leading dash' '{"json": [1]}' 'ü ☃ \ \\ %s %n' '- a: b' "$(printf '%065536d' 0)"; do
		etjob 0 template n --image=i -o json --command="$text"
		same command "$(jq -j '.spec.etReplicaSpecs.launcher.template.spec.containers[0].command[2]' <<<"$output"; echo x)" "${text}x"
	done
}

@test "what the kubelet would change is escaped, nothing else" {
	etjob 0 template n --image=i -o json 'echo $$ $(date) $(A) ${x} $((1+${n})) $(ls | wc) $ $'
	same command "$(made '.spec.etReplicaSpecs.launcher.template.spec.containers[0].command[2]')" '"echo $$$$ $$(date) $$(A) ${x} $((1+${n})) $(ls | wc) $ $"'
}

@test "words after -- run without a shell" {
	etjob 0 template n --image=i -o json -- python -u 'a b.py' --lr '$(X)'
	same command "$(made '.spec.etReplicaSpecs.launcher.template.spec.containers[0].command')" '["python","-u","a b.py","--lr","$$(X)"]'
	etjob 0 template --name=n --image=i -o json -- python
	same command "$(made '.spec.etReplicaSpecs.launcher.template.spec.containers[0].command')" '["python"]'
}

@test "etjob is a type only where it can be one" {
	etjob 0 template etjob n run --image=i -o name
	out_is 'trainingjob.kai.alibabacloud.com/n'
	etjob 0 template etjob run --image=i -o name
	out_is 'trainingjob.kai.alibabacloud.com/etjob'
	etjob 0 template etjob --name=n run --image=i -o name
	out_is 'trainingjob.kai.alibabacloud.com/n'
}

@test "-f starts from a file, and flags change it" {
	etjob 0 template n --image=i --workers=3 run
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/job.yaml"
	etjob 0 template -f "$BATS_TEST_TMPDIR/job.yaml" -o json
	same unchanged "$(jq -S . <<<"$output")" "$("$ETJOB" template n --image=i --workers=3 run -o json | jq -S .)"
	etjob 0 template -f "$BATS_TEST_TMPDIR/job.yaml" m --image=j --workers=5 --gpus=1 -e A=1 -o json other
	same changed "$(made '[.metadata.name, .spec.etReplicaSpecs.worker.replicas, (.spec.etReplicaSpecs[].template.spec.containers[0].image), .spec.etReplicaSpecs.launcher.template.spec.containers[0].command[2], .spec.etReplicaSpecs.worker.template.spec.containers[0].resources.limits]')" \
		'["m",5,"j","j","other",{"nvidia.com/gpu":"1"}]'
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/gpu.json"
	etjob 0 template -f "$BATS_TEST_TMPDIR/gpu.json" --gpus=0 -o json
	same gpus "$(made '.spec.etReplicaSpecs.worker.template.spec.containers[0].resources')" '{"limits":{},"requests":{}}'
}

@test "wrong use is told in one line, with status 2" {
	local -A wrong=(
		['n run']='error: --image is missing: the image of launcher and workers'
		['n --image=i']='error: the command is missing: the last argument, in quotes'
		['--image=i']='error: the name of the job is missing: give NAME or --name=NAME'
		['n --image=i run more']='error: "more" is one word too many: put the command in quotes, or its words after --'
		['n --image=i run --command=x']='error: the command is given more than once'
		['n --image=i run -e A']='error: --env "A": write KEY=VALUE'
		['n --image=i run --cpu=many']='error: --cpu: "many" is no quantity: write 2, 500m or 4Gi'
		['n --image=i run -d claim']='error: --data "claim": write CLAIM:PATH, with an absolute path'
		['n --image=i run --sync-mode=git']='error: --sync-mode needs --sync-source'
		['n --image=i run --sync-source=x']='error: --sync-mode is missing: rsync or git'
		['n --image=i run --logdir=/x']='error: --tensorboard is missing'
		['n --image=i run --min-workers=2']='error: spec.etReplicaSpecs.worker.minReplicas: 2 is more than replicas (1): lower it or start with more workers'
		['n --image=i run -o wide']='error: -o wide is for tables: use json, yaml, name or jsonpath=TEMPLATE'
		['n --image=i run --wait']='error: template only prints: --wait, --logs and --dry-run are for submit'
	)
	local words
	for words in "${!wrong[@]}"; do
		# shellcheck disable=SC2086 # words
		etjob 2 template $words
		out_is ''
		err_is "${wrong[$words]}"
	done
}

@test "several errors of a job are told at once" {
	etjob 2 template Bad_Name --image=i --workers=3 --min-workers=4 --max-workers=2 run
	same lines "${#stderr_lines[@]}" 3
	[[ ${stderr_lines[0]} == 'error: metadata.name: "Bad_Name" is no DNS label: '* ]]
}
