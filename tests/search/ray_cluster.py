"""A Ray cluster of two nodes on the loopback device, until standard input ends.

The head has no cores for workers, so that whatever Ray may place is on the other node. Prints
the address. Usage: python ray_cluster.py DIRECTORY
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster

cluster = Cluster()
for cores in (0, 1):
    cluster.add_node(
        num_cpus=cores,
        node_ip_address="127.0.0.1",
        temp_dir=sys.argv[1] if cores == 0 else None,
        include_dashboard=False if cores == 0 else None,
    )
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
