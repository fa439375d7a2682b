#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Objects in the shape that et-operator's users have work as they are.

load helper

setup_file() {
	new_namespace
}

setup() {
	story_step
}

teardown() {
	story_step_ended
}

teardown_file() {
	drop_namespace
}

# scaler FILE: creates what FILE holds, and prints its kind and name.
scaler() {
	k create -f "$BATS_TEST_DIRNAME/et-operator/$1" -o name
}

@test "the TrainingJob is applied and trains" {
	k apply -f "$BATS_TEST_DIRNAME/et-operator/trainingjob.yaml"
	until_true 60 "the job is Running" phase_is elastic-training Running
	until_true 60 "training with 2 workers" size_is elastic-training 2
}

@test "the ScaleOut adds two workers" {
	so=$(scaler scaleout.yaml)
	until_true 60 "$so succeeded" is "$so" '{.status.phase}' ScaleSucceeded
	[ "$(field "$so" '{.status.addPods}')" = '["elastic-training-worker-2","elastic-training-worker-3"]' ]
	until_true 60 "training with 4 workers" size_is elastic-training 4
}

@test "the ScaleIn by name removes that worker" {
	si=$(scaler scalein-names.yaml)
	until_true 60 "$si succeeded" is "$si" '{.status.phase}' ScaleSucceeded
	[ "$(field "$si" '{.status.toDeletePods}')" = '["elastic-training-worker-1"]' ]
	workers_are elastic-training "elastic-training-worker-0 elastic-training-worker-2 elastic-training-worker-3"
	until_true 60 "training with 3 workers" size_is elastic-training 3
}

@test "the ScaleIn by count removes the highest" {
	si=$(scaler scalein-count.yaml)
	until_true 60 "$si succeeded" is "$si" '{.status.phase}' ScaleSucceeded
	[ "$(field "$si" '{.status.toDeletePods}')" = '["elastic-training-worker-3"]' ]
	until_true 60 "training with 2 workers" size_is elastic-training 2
	sizes_were elastic-training "2 4 3 2"
	batches_only_grow elastic-training
}

@test "applying the TrainingJob again changes nothing" {
	run k apply -f "$BATS_TEST_DIRNAME/et-operator/trainingjob.yaml"
	[ "$status" -eq 0 ]
	before=$(last_batch elastic-training)
	until_true 30 "training goes on" batch_beyond elastic-training "$before"
	workers_are elastic-training "elastic-training-worker-0 elastic-training-worker-2"
}
