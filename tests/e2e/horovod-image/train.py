#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small elastic training job: linear regression on synthetic data, with Horovod over Gloo.

It prints a line that tests and people can read at each event:

    HH:MM:SS.mmm train HOST event=start rank=0 size=2 batch=0
    HH:MM:SS.mmm train HOST event=batch batch=10 size=2 loss=0.123456
    HH:MM:SS.mmm train HOST event=reset rank=0 size=3 batch=57
    HH:MM:SS.mmm train HOST event=done rank=0 size=3 batch=200 loss=0.000001

Environment (default):
    TRAIN_BATCHES (100000)      ends after that many batches
    TRAIN_STOP_FILE (/tmp/stop) ends when the file is there, on any worker
    TRAIN_STEP_SECONDS (0.2)    the pause after a batch
    TRAIN_COMMIT_EVERY (1)      batches between two commits, which is when changes are noticed
    TRAIN_LOG_EVERY (5)         batches between two event=batch lines
"""
import os
import time

for name, value in (
    ("TF_CPP_MIN_LOG_LEVEL", "2"),
    ("TF_ENABLE_ONEDNN_OPTS", "0"),
    ("OMP_NUM_THREADS", "1"),
    ("TF_NUM_INTRAOP_THREADS", "1"),
    ("TF_NUM_INTEROP_THREADS", "1"),
):
    os.environ.setdefault(name, value)

STARTED = time.time()

import horovod.tensorflow as hvd  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

BATCHES = int(os.environ.get("TRAIN_BATCHES", "100000"))
STEP_SECONDS = float(os.environ.get("TRAIN_STEP_SECONDS", "0.2"))
COMMIT_EVERY = int(os.environ.get("TRAIN_COMMIT_EVERY", "1"))
LOG_EVERY = int(os.environ.get("TRAIN_LOG_EVERY", "5"))
STOP_FILE = os.environ.get("TRAIN_STOP_FILE", "/tmp/stop")
HOST = os.environ.get("HOROVOD_HOSTNAME", "?")


def log(text):
    now = time.time()
    stamp = time.strftime("%H:%M:%S", time.localtime(now)) + ".%03d" % int(now % 1 * 1000)
    # One write a line: the lines of several processes meet in the launcher's log.
    os.write(1, ("%s train %s %s\n" % (stamp, HOST, text)).encode())


log("event=import seconds=%.1f" % (time.time() - STARTED))
hvd.init()
log("event=init rank=%d size=%d" % (hvd.rank(), hvd.size()))

WEIGHTS = np.arange(1.0, 9.0, dtype=np.float32).reshape(8, 1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, input_shape=(8,))])
optimizer = tf.keras.optimizers.legacy.SGD(0.05)
random = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))


def step(allreduce=True):
    """One batch: gradients of this worker's own data, averaged over all workers."""
    x = random.standard_normal((32, 8), dtype=np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - x @ WEIGHTS))
    grads = tape.gradient(loss, model.trainable_variables)
    if allreduce:
        grads = [hvd.allreduce(g, name="grad%d" % i) for i, g in enumerate(grads)]
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return float(loss)


# A step of its own creates the optimizer's variables. Without it a worker that joins later has
# fewer variables to broadcast than the others, and the first synchronisation deadlocks.
step(allreduce=False)


def on_reset():
    log("event=reset rank=%d size=%d batch=%d" % (hvd.rank(), hvd.size(), state.batch))


@hvd.elastic.run
def train(state):
    log("event=start rank=%d size=%d batch=%d" % (hvd.rank(), hvd.size(), state.batch))
    loss = float("nan")
    while state.batch < BATCHES and not state.stop:
        loss = step()
        state.batch += 1
        # All ranks hear of it together, so that all stop after the same batch.
        here = tf.constant(1 if os.path.exists(STOP_FILE) else 0)
        state.stop = int(hvd.allreduce(here, op=hvd.Sum, name="stop")) > 0
        if hvd.rank() == 0 and state.batch % LOG_EVERY == 0:
            log("event=batch batch=%d size=%d loss=%.6f" % (state.batch, hvd.size(), loss))
        if state.batch % COMMIT_EVERY == 0:
            state.commit()
        time.sleep(STEP_SECONDS)
    return loss


# TensorFlowKerasState, because the constructor of TensorFlowState broadcasts outside of the
# wrapped function, and a worker that joins later then deadlocks with the others.
state = hvd.elastic.TensorFlowKerasState(model, optimizer, batch=0, stop=False)
state.register_reset_callbacks([on_reset])
loss = train(state)
log("event=done rank=%d size=%d batch=%d loss=%.6f" % (hvd.rank(), hvd.size(), state.batch, loss))
