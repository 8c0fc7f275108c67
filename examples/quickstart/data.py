"""The data supply: a generator of images, C++ transforms in parallel workers, batches of 32."""

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore.dataset import transforms, vision


class Images:
    """Random access, so that several workers can read it: 224x224x3 images with a label from 0 to 9."""

    def __init__(self, length: int) -> None:
        rng = np.random.default_rng(0)
        self.pool = rng.integers(0, 256, (64, 224, 224, 3), dtype=np.uint8)
        self.labels = rng.integers(0, 10, length, dtype=np.int64)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.pool[index % len(self.pool)], np.array(self.labels[index])

    def __len__(self) -> int:
        return len(self.labels)


def create_dataset(length: int = 1024, batch_size: int = 32, workers: int = 1) -> ds.Dataset:
    dataset = ds.GeneratorDataset(Images(length), ["image", "label"], shuffle=False)
    dataset = dataset.map(
        [vision.Rescale(1 / 255, 0.0), vision.HWC2CHW()], input_columns="image", num_parallel_workers=workers
    )
    dataset = dataset.map(transforms.TypeCast(ms.int32), input_columns="label", num_parallel_workers=workers)
    return dataset.batch(batch_size, drop_remainder=True, num_parallel_workers=workers)
