"""The catalogue of workloads: what there is, what it takes, and which node it fits."""
