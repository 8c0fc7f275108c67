"""As mindyolo with sync_bn: what MindSpore itself asks the device for while a network is built for several ranks."""

import mindspore as ms
from mindspore import nn
from mindspore.communication import get_group_size, init
from parts import images, loss

ms.set_device("Ascend")
init()
ms.set_auto_parallel_context(
    parallel_mode="data_parallel", device_num=get_group_size(), gradients_mean=True, enable_parallel_optimizer=True
)
network = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.SyncBatchNorm(4), nn.ReLU(), nn.Flatten(), nn.Dense(4 * 8 * 8, 2))
optimizer = nn.AdamWeightDecay(network.trainable_params(), 0.01)
ms.Model(network, loss(), optimizer, amp_level="O2").train(1, images(), dataset_sink_mode=True)
