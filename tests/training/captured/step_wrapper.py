"""Step cells of one's own names that scale the loss: ``step_wrapper.py fixed|dynamic|tensor|sens model|loop``."""

import sys

import mindspore as ms
from mindspore import nn
from parts import images, loss, momentum, net

SCALES = {
    "fixed": lambda: nn.FixedLossScaleUpdateCell(1024),
    "dynamic": lambda: nn.DynamicLossScaleUpdateCell(loss_scale_value=65536, scale_factor=2, scale_window=1000),
    "tensor": lambda: ms.Tensor(512.0, ms.float32),
}


class TrainOneStepWrapper(nn.TrainOneStepWithLossScaleCell):
    pass


class PlainStep(nn.TrainOneStepCell):
    pass


how, runner = sys.argv[1:]
ms.set_context(mode=ms.GRAPH_MODE)
network = net().to_float(ms.float16)
with_loss = nn.WithLossCell(network, loss())
if how == "sens":
    step = PlainStep(with_loss, momentum(network), sens=256.0)
else:
    step = TrainOneStepWrapper(with_loss, momentum(network), scale_sense=SCALES[how]())
step.set_train()
if runner == "model":
    ms.Model(step).train(1, images(), dataset_sink_mode=True)
else:
    for batch in images().create_tuple_iterator(num_epochs=1):
        step(*batch)
