# fmt: off
# ruff: noqa: E501  (rows of tables)
"""Which framework writes which fact where: data, one table a framework.

Read at the frameworks' repositories in 2026 (14 of them): the flags and keys their own training code looks up, and its
defaults. A new framework is a new ``Framework``; a new spelling is one more string.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["text", "count", "mode", "amp", "switch", "paths"]


@dataclass(frozen=True)
class Rule:
    """Where one fact stands, in order of precedence, and the default with its origin.

    ``flags`` are of the program; ``words`` maps a flag without value to what it means; ``keys`` are paths in the
    configuration (``*`` one key); ``needs`` is a switch that must be on for the key to act; ``root`` the key of the folder
    that relative paths lie in.
    """

    kind: Kind
    flags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    default: Any = None
    origin: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    root: str = ""


@dataclass(frozen=True)
class Framework:
    """``programs`` are patterns of the program's path, ``flags`` and ``keys`` whose presence gives it away."""

    name: str
    programs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    facts: Mapping[str, Rule] = field(default_factory=dict)


FACTS = (
    "affinity", "nodes", "devices_per_node", "tensor_parallel", "pipeline_parallel", "loader_workers",
    "preprocessing_workers", "execution_mode", "amp", "sink_mode", "data_paths", "cache_paths", "num_layers",
)

NONE = "not applicable"  # the default of a fact the framework does not have

TP = Rule(
    "count", ("--tensor-model-parallel-size", "--tp"), ("**.tensor_model_parallel_size",), 1, "Megatron arguments"
)
PP = Rule(
    "count", ("--pipeline-model-parallel-size", "--pp"), ("**.pipeline_model_parallel_size",), 1, "Megatron arguments"
)
MEGATRON_AMP = Rule("amp", (), ("bf16", "fp16", "params_dtype", "*.params_dtype"), "fp32", "Megatron arguments",
                    {"--bf16": "bf16", "--fp16": "fp16"})
BASIC = "dataset_param.basic_parameters"
ABSENT_MODE = Rule("mode", default=NONE, origin="PyTorch has no execution mode")
ABSENT_SINK = Rule("switch", default=NONE, origin="PyTorch has no data sink")

MINDSPEED_MM = Framework(
    "MindSpeed-MM",
    (r"pretrain_(vlm|sora|ae|lumina|whisper|internvl|llava|omni|transformers|deepseek_vl)\w*\.py", r"mindspeed[_-]mm"),
    ("--mm-data", "--mm-model", "--mm-tool"),
    ((BASIC, "dataloader_param"),),
    {
        "tensor_parallel": TP,
        "pipeline_parallel": PP,
        "loader_workers": Rule("count", ("--num-workers",), (), 2, "Megatron's default, which overrides dataloader_param.num_workers"),
        "preprocessing_workers": Rule(
            "count", (), (f"{BASIC}.preprocessing_num_workers",), 1, "datasets.map runs in the main process"
        ),
        "execution_mode": ABSENT_MODE,
        "amp": MEGATRON_AMP,
        "sink_mode": ABSENT_SINK,
        "data_paths": Rule(
            "paths",
            ("--data-path",),
            (
                f"{BASIC}.dataset_dir",
                f"{BASIC}.dataset",
                f"{BASIC}.data_path",
                f"{BASIC}.data_folder",
                "dataset_param.dataset_name_or_path",
                "**.data_dir",
            ),
        ),
        "cache_paths": Rule("paths", (), (f"{BASIC}.cache_dir",), ["~/.cache/huggingface"], "datasets' cache"),
        "num_layers": Rule(
            "count", ("--num-layers",), ("text_decoder.num_layers", "predictor.num_layers", "num_layers")
        ),
    },
)

MINDSPEED_MM_FSDP = Framework(
    "MindSpeed-MM FSDP",
    (r"mindspeed_mm/fsdp", r"(^|/)trainer\.py$"),
    (),
    (("parallel.fsdp_plan",), ("gpt_args", f"data.{BASIC}"), ("data.dataloader_param", "parallel")),
    {
        "tensor_parallel": Rule("count", (), ("parallel.tensor_parallel_size", "gpt_args.tensor_model_parallel_size"), 1,
                                "FSDP trainer"),
        "pipeline_parallel": Rule("count", (), ("parallel.pipeline_parallel_size",), 1, "FSDP trainer"),
        "loader_workers": Rule(
            "count",
            ("--num-workers",),
            ("data.dataloader_param.num_workers", "gpt_args.num_workers", "data.dataset_param.dataset_conf.num_workers"),
            0,
            "torch.utils.data.DataLoader",
        ),
        "preprocessing_workers": Rule(
            "count", (), (f"data.{BASIC}.preprocessing_num_workers",), 1, "datasets.map runs in the main process"
        ),
        "execution_mode": ABSENT_MODE,
        "amp": Rule("amp", (), ("parallel.fsdp_plan.param_dtype", "fsdp2_config.param_dtype", "gpt_args.bf16"), "fp32",
                    "FSDP trainer"),
        "sink_mode": ABSENT_SINK,
        "data_paths": Rule("paths", (), (f"data.{BASIC}.dataset_dir", f"data.{BASIC}.dataset")),
        "cache_paths": Rule("paths", (), (f"data.{BASIC}.cache_dir",), ["~/.cache/huggingface"], "datasets' cache"),
        "num_layers": Rule("count", (), ("model.num_hidden_layers", "model.num_layers", "gpt_args.num_layers")),
    },
)

MINDSPEED_LLM = Framework(
    "MindSpeed-LLM",
    (r"(pretrain|posttrain|preprocess|inference|evaluation)_(gpt|data|mamba)\w*\.py", r"train_fsdp2\.py", r"mindspeed_llm",
     r"convert_ckpt\w*\.py"),
    ("--tokenizer-name-or-path", "--use-mcore-models", "--tensor-model-parallel-size"),
    (("training.dataloader_num_workers",),),
    {
        "tensor_parallel": TP,
        "pipeline_parallel": PP,
        "loader_workers": Rule(
            "count", ("--num-workers",), ("training.dataloader_num_workers",), 2, "Megatron arguments"
        ),
        "preprocessing_workers": Rule(
            "count", ("--workers", "--preprocessing-num-workers"), ("data.preprocessing_num_workers",), 1,
            "preprocess_data.py"),
        "execution_mode": ABSENT_MODE,
        "amp": MEGATRON_AMP,
        "sink_mode": ABSENT_SINK,
        "data_paths": Rule("paths", ("--data-path", "--input", "--train-data-path"), ("data.dataset", "data.dataset_dir")),
        "cache_paths": Rule("paths", ("--data-cache-path",), ("data.cache_dir",)),
        "num_layers": Rule("count", ("--num-layers",), ("model.num_layers",)),
    },
)

VERL = Framework(
    "verl",
    (r"verl\.trainer", r"(^|/)main_ppo", r"rlxf", r"posttrain_rl"),
    (),
    (("trainer.n_gpus_per_node",), ("env_vars",), ("megatron_training",)),
    {
        "nodes": Rule("count", (), ("trainer.nnodes",), 1, "verl trainer"),
        "devices_per_node": Rule("count", (), ("trainer.n_gpus_per_node", "rl_config.actor_resource.num_npus"), 8,
                                 "verl trainer"),
        "tensor_parallel": Rule(
            "count", (), ("actor_rollout_ref.rollout.tensor_model_parallel_size",
                          "megatron_training.tensor_model_parallel_size"), 1, "verl trainer"),
        "pipeline_parallel": Rule("count", (), ("megatron_training.pipeline_model_parallel_size",), 1, "verl trainer"),
        "loader_workers": Rule("count", (), ("data.dataloader_num_workers", "data.num_workers"), 8, "verl data"),
        "preprocessing_workers": Rule(
            "count", (), ("data.filter_overlong_prompts_workers", "data.preprocessing_num_workers"), 1, "verl data"),
        "execution_mode": ABSENT_MODE,
        "amp": Rule("amp", (), ("megatron_training.bf16", "megatron_training.fp16"), "bf16", "verl"),
        "sink_mode": ABSENT_SINK,
        "data_paths": Rule("paths", (), ("data.train_files", "data.val_files", "megatron_training.data_path")),
        "cache_paths": Rule("paths", (), ("data.cache_dir",), ["~/.cache/verl/rlhf"], "verl data"),
        "num_layers": Rule("count", (), ("megatron_training.num_layers",)),
    },
)

MINDFORMERS = Framework(
    "mindformers",
    (r"run_mindformer\.py", r"mindformers"),
    (),
    (("runner_config",), ("context.mode", "parallel_config"), ("train_dataset_task",)),
    {
        "tensor_parallel": Rule(
            "count", ("--model_parallel",), ("parallel_config.model_parallel", "distribute_parallelism_config.tensor_model_parallel_size"),
            1, "mindformers parallel_config"),
        "pipeline_parallel": Rule(
            "count", ("--pipeline_stage",), ("parallel_config.pipeline_stage",), 1, "mindformers parallel_config"),
        "loader_workers": Rule(
            "count", (), ("train_dataset.num_parallel_workers", "train_dataset_task.dataset_config.num_parallel_workers"), 8,
            "mindformers template"),
        "preprocessing_workers": Rule("count", (), ("train_dataset.data_loader.num_proc",), 1, "mindformers"),
        "execution_mode": Rule("mode", ("--mode",), ("context.mode",), 0, "mindformers template"),
        "amp": Rule("amp", (), ("model.model_config.compute_dtype", "model.model_config.params_dtype",
                                "context.ascend_config.precision_mode"), "fp16", "mindformers model_config"),
        "sink_mode": Rule("switch", (), ("runner_config.sink_mode",), True, "mindformers template.py"),
        "data_paths": Rule(
            "paths", ("--train_dataset_dir", "--train_dataset"),
            ("train_dataset.data_loader.dataset_dir", "train_dataset.data_loader.data_files", "train_dataset.data_loader.path",
             "train_dataset.data_loader.config.data_path", "train_dataset.dataloader.dataset_files")),
        "cache_paths": Rule("paths", (), ("train_dataset.data_loader.cache_dir",)),
        "num_layers": Rule("count", (), ("model.model_config.num_layers", "model.model_config.num_hidden_layers")),
    },
)

MINDYOLO = Framework(
    "mindyolo",
    (r"mindyolo",),
    ("--ms_amp_level", "--ms_mode", "--ms_datasink"),
    (("ms_mode",), ("ms_amp_level",), ("data.train_set",)),
    {
        "loader_workers": Rule("count", (), ("data.num_parallel_workers",), 8, "mindyolo"),
        "execution_mode": Rule("mode", ("--ms_mode",), ("ms_mode",), 0, "mindyolo train.py"),
        "amp": Rule("amp", ("--ms_amp_level",), ("ms_amp_level",), "O0", "mindyolo train.py"),
        "sink_mode": Rule("switch", ("--ms_datasink",), ("ms_datasink",), False, "mindyolo train.py"),
        "data_paths": Rule("paths", (), ("data.train_set", "data.val_set")),
        "cache_paths": Rule("paths", (), ()),
    },
)

MINDOCR = Framework(
    "mindocr",
    (r"mindocr",),
    (),
    (("system.mode",), ("train.loader", "train.dataset")),
    {
        "loader_workers": Rule("count", (), ("train.loader.num_workers",), 8, "mindocr"),
        "execution_mode": Rule("mode", (), ("system.mode",), 0, "mindocr"),
        "amp": Rule("amp", (), ("system.amp_level",), "O0", "mindocr"),
        "sink_mode": Rule("switch", (), ("train.dataset_sink_mode",), False, "mindocr"),
        "data_paths": Rule("paths", (), ("train.dataset.data_dir", "dataset_path"), root="train.dataset.dataset_root"),
        "cache_paths": Rule("paths", (), ()),
    },
)

MINDONE = Framework(
    "mindone",
    (r"mindone", r"opensora", r"hpcai"),
    ("--mindspore_mode",),
    (("env.mode",), ("train.data_sink_mode",), ("dataloader.num_workers_dataset",)),
    {
        "loader_workers": Rule(
            "count", ("--dataloader_num_workers", "--num_parallel_workers"),
            ("dataloader.num_workers_dataset", "dataloader.num_parallel_workers", "num_parallel_workers")),
        "execution_mode": Rule("mode", ("--mode", "--ms_mode", "--mindspore_mode"), ("env.mode", "mode")),
        "amp": Rule("amp", ("--amp_level", "--precision", "--mixed_precision"), ("model.amp_level", "amp_level"), "O0",
                    "mindone", {}, "model.enable_ms_amp"),
        "sink_mode": Rule("switch", ("--dataset_sink_mode",), ("train.data_sink_mode", "dataset_sink_mode"), False, "mindone"),
        "data_paths": Rule("paths", ("--data_root", "--data_path", "--csv_path"),
                           ("dataset.csv_path", "dataset.video_folder", "dataset.text_emb_folder", "dataset.vae_latent_folder")),
        "cache_paths": Rule("paths", ("--cache_dir",), ("cache_dir",)),
    },
)

MINDCV = Framework(
    "mindcv",
    (r"mindcv",),
    (),
    (("dataset_sink_mode", "amp_level", "data_dir"), ("val_amp_level",), ("amp_cast_list",)),
    {
        "loader_workers": Rule("count", ("--num_parallel_workers",), ("num_parallel_workers",), 8, "mindcv config.py"),
        "execution_mode": Rule("mode", ("--mode",), ("mode",), 0, "mindcv config.py"),
        "amp": Rule("amp", ("--amp_level",), ("amp_level",), "O0", "mindcv config.py"),
        "sink_mode": Rule("switch", ("--dataset_sink_mode",), ("dataset_sink_mode",), True, "mindcv config.py"),
        "data_paths": Rule("paths", ("--data_dir",), ("data_dir",), ["./"], "mindcv config.py"),
        "cache_paths": Rule("paths", (), ()),
    },
)

MODELS = Framework(
    "mindspore models",
    (r"(^|/)(official|research|community)/",),
    (),
    (("data_url",), ("enable_data_sink",), ("mode_name",), ("enable_modelarts",), ("run_distribute",), ("mode_sink",)),
    {
        "loader_workers": Rule(
            "count", ("--num_parallel_workers", "--workers", "--num_workers"),
            ("num_parallel_workers", "num_workers", "train_num_workers", "workers", "work_nums", "DATA_LOADER.NUM_WORKERS")),
        "execution_mode": Rule("mode", ("--mode",), ("mode", "mode_name", "context.mode", "run_mode")),
        "amp": Rule("amp", ("--amp_level",), ("amp_level", "cast_fp16", "fp16"), "O0", "Model(amp_level)"),
        "sink_mode": Rule(
            "switch", ("--dataset_sink_mode", "--enable_data_sink"),
            ("dataset_sink_mode", "sink_mode", "enable_data_sink", "mode_sink", "train_use_data_sink")),
        "data_paths": Rule("paths", ("--data_path", "--data_dir", "--dataset_path"),
                           ("data_path", "dataset_path", "data_dir", "coco_root", "data_url")),
        "cache_paths": Rule("paths", (), ("cache_dir",)),
    },
)

ACCELERATE = Framework(
    "accelerate",
    (r"diffusers", r"train_(text_to_image|dreambooth|controlnet|unconditional|sdxl)\w*\.py"),
    ("--dataloader_num_workers", "--pretrained_model_name_or_path"),
    (("num_processes", "mixed_precision"), ("zero_optimization",), ("train_micro_batch_size_per_gpu",)),
    {
        "nodes": Rule("count", (), ("num_machines",), 1, "accelerate"),
        "loader_workers": Rule("count", ("--dataloader_num_workers",), (), 0, "torch.utils.data.DataLoader"),
        "execution_mode": ABSENT_MODE,
        "amp": Rule(
            "amp", ("--mixed_precision",), ("mixed_precision", "bf16.enabled", "fp16.enabled"), "no", "accelerate"
        ),
        "sink_mode": ABSENT_SINK,
        "data_paths": Rule("paths", ("--dataset_name", "--train_data_dir", "--instance_data_dir"), ()),
        "cache_paths": Rule("paths", ("--cache_dir",), (), ["~/.cache/huggingface"], "datasets' cache"),
    },
)

UNRECOGNISED = Framework(
    "not recognised",
    facts={
        "tensor_parallel": Rule("count", ("--tensor-model-parallel-size",), ("parallel_config.model_parallel",)),
        "pipeline_parallel": Rule("count", ("--pipeline-model-parallel-size",), ("parallel_config.pipeline_stage",)),
        "loader_workers": Rule(
            "count", ("--num-workers", "--dataloader_num_workers", "--num_parallel_workers"),
            ("num_parallel_workers", "num_workers")),
        "preprocessing_workers": Rule("count", ("--workers", "--preprocessing-num-workers"), ("preprocessing_num_workers",)),
        "execution_mode": Rule("mode", ("--mode", "--ms_mode"), ("mode", "context.mode")),
        "amp": Rule("amp", ("--amp_level", "--mixed_precision"), ("amp_level", "mixed_precision"), None, "",
                    {"--bf16": "bf16", "--fp16": "fp16"}),
        "sink_mode": Rule("switch", ("--dataset_sink_mode",), ("dataset_sink_mode", "sink_mode")),
        "data_paths": Rule("paths", ("--data-path", "--data_dir", "--data_path"), ("data_dir", "data_path", "dataset_path")),
        "cache_paths": Rule("paths", ("--cache_dir",), ("cache_dir",)),
        "num_layers": Rule("count", ("--num-layers",), ("text_decoder.num_layers", "predictor.num_layers", "num_layers")),
    },
)

FRAMEWORKS = (
    MINDSPEED_MM, MINDSPEED_MM_FSDP, MINDSPEED_LLM, VERL, MINDFORMERS, MINDYOLO, MINDOCR, MINDONE, MINDCV, MODELS,
    ACCELERATE,
)
