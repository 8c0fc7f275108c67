"""Trains for real on the CPU that it asks for: ``stepping.py model|loop|fit|epochs|short|raises|hangs|rank``."""

import sys
import time

import mindspore as ms
import parts
from mindspore import train

how = sys.argv[1]
mode = ms.PYNATIVE_MODE if how == "loop" else ms.GRAPH_MODE
ms.set_context(mode=mode, device_target="CPU")
if how == "rank":
    ms.communication.init()
net, loss_fn = parts.net(), parts.loss()
optimizer = parts.momentum(net)


class Hangs(train.Callback):
    def step_end(self, run_context):
        if run_context.original_args().cur_step_num == 3:
            time.sleep(600)


class Raises(train.Callback):
    def step_end(self, run_context):
        if run_context.original_args().cur_step_num == 3:
            raise ArithmeticError("the loss is NaN")


class Slow(train.Callback):
    def on_eval_begin(self, run_context):
        time.sleep(6)


if how == "loop":
    step = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    for number, (x, y) in enumerate(parts.images().repeat(10).create_tuple_iterator(num_epochs=1)):
        loss, grads = step(x, y)
        optimizer(grads)
        ms.save_checkpoint(net, f"step-{number}.ckpt")
else:
    config = train.CheckpointConfig(save_checkpoint_steps=1, keep_checkpoint_max=1)
    callbacks = [train.ModelCheckpoint("kept", ".", config), train.LossMonitor(1)]
    callbacks += {"hangs": [Hangs()], "raises": [Raises()]}.get(how, [])
    model = train.Model(net, loss_fn, optimizer, metrics={"accuracy"}, amp_level="O0")
    if how == "fit":
        model.fit(10, parts.images(), parts.images(), callbacks=callbacks, dataset_sink_mode=False)
    elif how == "epochs":
        for _ in range(10):
            model.train(1, parts.images(), callbacks, dataset_sink_mode=False)
            model.eval(parts.images(), [Slow()], dataset_sink_mode=False)
    else:
        epochs = 1 if how == "short" else 10
        model.train(epochs, parts.images(), callbacks, dataset_sink_mode=True)
