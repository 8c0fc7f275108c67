"""As mindyolo's trainer: a cast network, a functional step under jit, dict batches."""

import mindspore as ms
from mindspore import amp, ops
from parts import images, loss, momentum, net


def create_train_step_fn(network, optimizer, loss_fn, scaler, use_jit=True):
    def forward_func(image, label):
        return scaler.scale(loss_fn(network(image), label))

    grad_fn = ops.value_and_grad(forward_func, grad_position=None, weights=optimizer.parameters, has_aux=False)

    def train_step_func(image, label):
        value, grads = grad_fn(image, label)
        optimizer(scaler.unscale(grads))
        return scaler.unscale(value)

    @ms.jit
    def jit_warpper(*args):
        return train_step_func(*args)

    return jit_warpper if use_jit else train_step_func


class Trainer:
    def __init__(self, train_step_fn, dataset, epochs):
        self.train_step_fn, self.dataset, self.epochs = train_step_fn, dataset, epochs

    def train(self):
        loader = self.dataset.create_dict_iterator(output_numpy=True, num_epochs=1)
        for _ in range(self.epochs):
            for batch in loader:
                self.train_step(ms.Tensor(batch["image"]), ms.Tensor(batch["label"]))

    def train_step(self, *batch):
        return self.train_step_fn(*batch)


ms.set_context(mode=ms.PYNATIVE_MODE)
network = amp.auto_mixed_precision(net(), "O2")
step = create_train_step_fn(network, momentum(network), loss(), amp.StaticLossScaler(1024))
Trainer(step, images(workers=2), 3).train()
