"""Small pieces of MindSpore programs that the tests train; MindSpore is imported when one is used."""

from __future__ import annotations

from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="numpy comes with MindSpore, which is not installed")


class Rows:
    """A source with random access: 8x8 images of one channel."""

    def __init__(self, rows: int = 16) -> None:
        self.rows = rows

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return np.full((1, 8, 8), index, np.float32), np.array(index % 2, np.int32)

    def __len__(self) -> int:
        return self.rows


def rows_one_by_one() -> Any:
    """The same as a generator function."""
    for index in range(16):
        yield np.full((1, 8, 8), index, np.float32), np.array(index % 2, np.int32)


def scale(image: Any) -> Any:
    return image / 16


def pipeline(source: Any = None, workers: int = 1, **map_options: Any) -> Any:
    import mindspore.dataset as ds

    found = ds.GeneratorDataset(
        Rows() if source is None else source, ["image", "label"], shuffle=False, num_parallel_workers=workers
    )
    found = found.map(scale, input_columns="image", num_parallel_workers=workers, **map_options)
    return found.batch(4, num_parallel_workers=workers)


def network(norm: bool = True) -> Any:
    from mindspore import nn

    inner = [nn.BatchNorm2d(4)] if norm else []
    return nn.SequentialCell(nn.Conv2d(1, 4, 3), *inner, nn.ReLU(), nn.Flatten(), nn.Dense(4 * 8 * 8, 2))


def loss() -> Any:
    from mindspore import nn

    return nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")


def model(net: Any = None, **options: Any) -> Any:
    from mindspore import nn
    from mindspore.train import Model

    net = network() if net is None else net
    if options.get("amp_level", "O0") in ("O2",):
        options.setdefault("loss_scale_manager", None)  # the default, dynamic loss scale, is refused on a CPU
    return Model(net, loss(), nn.Momentum(net.trainable_params(), 0.01, 0.9), **options)
