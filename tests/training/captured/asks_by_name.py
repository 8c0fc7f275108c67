"""Arguments by MindSpore's own names, as MindFlow and MindScience write them."""

import mindspore as ms
import mindspore.dataset as ds
from mindspore import context
from parts import images, loss, momentum, net

ms.set_device(device_target="Ascend", device_id=0)
ds.config.set_num_parallel_workers(num=6)
on_ascend = context.get_context(attr_key="device_target") == "Ascend"
context.set_context(mode=context.GRAPH_MODE if on_ascend else context.PYNATIVE_MODE)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, images())
