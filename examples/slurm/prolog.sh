#!/usr/bin/env bash
# A Slurm prolog (Prolog= in slurm.conf, or srun --task-prolog): the job starts on this node only if the gate is open.
# Slurm drains the node or requeues the job on any other exit code than 0, so the closed gate (78) speaks by itself.
set -u
cd "${SLURM_SUBMIT_DIR:-.}" || exit 1
exec timeout --kill-after=10 300 python -m pytest -p no:cacheprovider --color=no \
    --ascend-env-gate \
    --ascend-env-require affinity_mode=coarse \
    --ascend-env-require local_storage="${DATA_DIR:-/data}"
