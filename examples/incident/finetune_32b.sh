#!/bin/bash
# Fine-tuning of the 32b model. Usage: bash examples/incident/finetune_32b.sh
source /usr/local/Ascend/ascend-toolkit/set_env.sh

export CUDA_DEVICE_MAX_CONNECTIONS=1
export ASCEND_GLOBAL_LOG_LEVEL=3
export TASK_QUEUE_ENABLE=2
export COMBINED_ENABLE=1
export CPU_AFFINITY_CONF=1
export HCCL_CONNECT_TIMEOUT=1200
export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True

NPUS_PER_NODE=8
MASTER_ADDR=${MASTER_ADDR:-localhost}
MASTER_PORT=29501
NNODES=2
NODE_RANK=${NODE_RANK:-0}
WORLD_SIZE=$((NPUS_PER_NODE * NNODES))

HERE=$(cd "$(dirname "$0")" && pwd)
MM_DATA="$HERE/data_32b.json"
MM_MODEL="$HERE/model_32b.json"
LOAD_PATH=/ckpt/vl-32b
SAVE_PATH=/ckpt/vl-32b-tuned

TP=4
PP=4
MBS=1
GBS=$((WORLD_SIZE * MBS / TP / PP * 4))

DISTRIBUTED_ARGS="
    --nproc_per_node $NPUS_PER_NODE \
    --nnodes $NNODES \
    --node_rank $NODE_RANK \
    --master_addr $MASTER_ADDR \
    --master_port $MASTER_PORT
"

GPT_ARGS="
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} \
    --micro-batch-size ${MBS} \
    --global-batch-size ${GBS} \
    --seq-length 4096 \
    --tokenizer-type NullTokenizer \
    --vocab-size 152064 \
    --lr 1.0e-5 \
    --train-iters 5000 \
    --bf16 \
    --load $LOAD_PATH
"

MM_ARGS="
    --mm-data $MM_DATA \
    --mm-model $MM_MODEL
"

OUTPUT_ARGS="
    --log-interval 1 \
    --save-interval 1000 \
    --save $SAVE_PATH
"

mkdir -p logs
torchrun $DISTRIBUTED_ARGS pretrain_vlm.py \
    $GPT_ARGS \
    $MM_ARGS \
    $OUTPUT_ARGS \
    --distributed-backend nccl \
    2>&1 | tee logs/train_32b.log
