"""A JAX program that knows nothing of graphtag; XLA makes command buffers (CUDA graphs) of its functions.

usage: jax_program.py TRUTH
"""
import json
import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_graph_min_graph_size=1"
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

CALLS = 200


@jax.jit
def step(x, weight):
    for _ in range(8):
        x = jax.nn.softmax(jnp.tanh(x @ weight), axis=-1) * 2 + x
    return x


weight = jnp.ones((128, 128))
x = jnp.ones((16, 128))
for _ in range(CALLS):
    x = step(x, weight)
x.block_until_ready()
with open(sys.argv[1], "w") as file:
    json.dump({"calls": CALLS}, file)
