"""What is seen of a test body: real MindSpore on the CPU, really trained."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from typing import Any

import programs
import pytest

from pytest_ascendenv.training.observe import observing


def only(seen: Any) -> Any:
    assert len(seen.calls) == 1, [call.title for call in seen.calls]
    return seen.calls[0]


def value(call: Any, name: str) -> Any:
    return call.facts[name].value


@pytest.mark.parametrize("how", ["keyword", "positional", "default"])
def test_the_sink_argument_that_train_received(mindspore: Any, how: str) -> None:
    model = programs.model()
    with observing() as seen:
        if how == "keyword":
            model.train(1, programs.pipeline(), dataset_sink_mode=True)
        elif how == "positional":
            model.train(1, programs.pipeline(), None, True)
        else:
            model.train(1, programs.pipeline())
    call = only(seen)
    assert value(call, "sink_mode") is (how != "default")
    assert value(call, "sink_in_effect") is False
    assert call.function == "Model.train"
    assert "test_observe.py:" in call.site


def test_fit_counts_once_and_its_epochs_and_batch_are_known(mindspore: Any) -> None:
    model = programs.model()
    with observing() as seen:
        model.fit(2, programs.pipeline(), dataset_sink_mode=False, sink_size=-1)
    call = only(seen)
    assert (call.function, value(call, "epochs"), value(call, "batch_size")) == ("Model.fit", 2, 4)


def test_eval_is_no_training_call(mindspore: Any) -> None:
    model = programs.model(metrics={"accuracy"})
    with observing() as seen:
        model.eval(programs.pipeline())
    assert seen.calls == []


def test_the_training_really_runs_and_returns_its_errors(mindspore: Any) -> None:
    net = programs.network()
    before = net.trainable_params()[0].asnumpy().copy()
    with observing() as seen:
        programs.model(net).train(1, programs.pipeline())
        with pytest.raises(ValueError, match="must > 0"):
            programs.model().train(0, programs.pipeline())
        with pytest.raises(TypeError, match="argument"):
            programs.model().train(1, programs.pipeline(), no_such_argument=1)
    assert (net.trainable_params()[0].asnumpy() != before).any()
    assert [bool(call.error) for call in seen.calls] == [False, True]


def test_every_training_call_is_kept(mindspore: Any, judge: Any) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    with observing() as seen:
        programs.model().train(1, programs.pipeline(), dataset_sink_mode=True)
        programs.model().train(1, programs.pipeline(), dataset_sink_mode=False)
    finding = judge("sink_mode", seen)
    assert finding.verdict.value == "fail"
    assert "dataset_sink_mode=False" in finding.found
    assert "1 of 2 training calls meet it" in finding.notes


def test_a_subclass_and_a_thread_are_seen(mindspore: Any) -> None:
    from mindspore.train import Model

    class Mine(Model):  # type: ignore[misc]
        def train(self, *args: Any, **kwargs: Any) -> None:
            super().train(*args, dataset_sink_mode=True, **kwargs)

    net = programs.network()
    model = Mine(net, programs.loss(), mindspore.nn.Momentum(net.trainable_params(), 0.01, 0.9))
    with observing() as seen:
        thread = threading.Thread(target=model.train, args=(1, programs.pipeline()))
        thread.start()
        thread.join()
    assert value(only(seen), "sink_mode") is True


def test_the_mode_is_that_of_the_call_and_where_it_was_set(mindspore: Any) -> None:
    with observing() as seen:
        model = programs.model()
        mindspore.set_context(mode=mindspore.GRAPH_MODE)
        model.train(1, programs.pipeline())
    fact = only(seen).facts["execution_mode"]
    assert fact.value == "GRAPH_MODE"
    assert "test_observe.py:" in fact.source


def test_ms_jit_is_read_at_the_call(mindspore: Any, monkeypatch: pytest.MonkeyPatch, judge: Any) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    monkeypatch.setenv("MS_JIT", "0")
    with observing() as seen, pytest.raises(RecursionError):  # MindSpore's own, 2.7 to 2.10, watched or not
        programs.model().train(1, programs.pipeline())
    finding = judge("graph_mode", seen)
    assert (finding.verdict.value, "MS_JIT=0" in finding.found) == ("fail", True)


def test_nothing_of_ours_is_left(mindspore: Any) -> None:
    from mindspore.amp import auto_mixed_precision
    from mindspore.train import Model

    watched = [Model.__init__, Model.train, Model.fit, auto_mixed_precision, mindspore.set_context]
    before = [(function.__code__, dict(vars(function))) for function in watched]
    finders = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), observing():
        assert Model.train.__code__ is not before[1][0]
        raise ZeroDivisionError
    assert [(function.__code__, dict(vars(function))) for function in watched] == before
    assert sys.meta_path == finders
    assert "__call__" not in vars(mindspore.nn.TrainOneStepCell)


def test_a_double_put_in_place_by_the_test_survives_us_and_is_undone(
    mindspore: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mindspore.train import Model

    real = Model.train
    with observing() as seen:
        monkeypatch.setattr(Model, "train", lambda *args, **kwargs: "double")
        assert programs.model().train(1, None) == "double"
    monkeypatch.undo()
    assert seen.calls == []
    assert Model.train is real
    with observing() as seen:
        programs.model().train(1, programs.pipeline())
    assert len(seen.calls) == 1


def test_values_do_not_leak_into_the_next_observation(mindspore: Any) -> None:
    with observing() as first:
        programs.model().train(1, programs.pipeline())
    with observing() as second:
        pass
    assert (len(first.calls), second.calls, second.datasets, second.casts) == (1, [], [], [])


def test_a_refused_model_keeps_what_was_declared(mindspore: Any, judge: Any) -> None:
    with observing() as seen, pytest.raises(ValueError, match="loss_scale_manager"):
        net = programs.network()
        mindspore.train.Model(net, programs.loss(), mindspore.nn.Momentum(net.trainable_params(), 0.1, 0.9), None, None,
                              None, "O2")  # fmt: skip
    assert seen.refused[0].level == "O2"
    finding = judge("amp_level", seen, "O2")
    assert finding.verdict.value == "fail"
    assert "no training call was seen in test_it" in finding.found
    assert "FixedLossScaleManager" in finding.fix


def test_a_hand_written_loop_is_seen_once(mindspore: Any, judge: Any) -> None:
    net, loss = programs.network(), programs.loss()
    optimizer = mindspore.nn.Momentum(net.trainable_params(), 0.01, 0.9)

    def forward(image: Any, label: Any) -> Any:
        return loss(net(image), label)

    gradient = mindspore.value_and_grad(forward, None, optimizer.parameters)
    with observing() as seen:
        for image, label in programs.pipeline().create_tuple_iterator(num_epochs=1):
            _, gradients = gradient(image, label)
            optimizer(gradients)
    call = only(seen)
    assert (value(call, "execution_mode"), value(call, "amp_level")) == ("PYNATIVE_MODE", "O0")
    assert [operation.kind for operation in call.operations] == ["GeneratorDataset", "MapDataset", "BatchDataset"]
    assert "loop that feeds each batch from Python" in judge("sink_mode", seen).found


def test_a_hand_written_loop_in_graph_mode_with_a_cast_network(mindspore: Any, judge: Any) -> None:
    from mindspore.amp import auto_mixed_precision

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    with observing() as seen:
        net, loss = auto_mixed_precision(programs.network(), "O2"), programs.loss()
        optimizer = mindspore.nn.Momentum(net.trainable_params(), 0.01, 0.9)

        def forward(image: Any, label: Any) -> Any:
            return loss(net(image), label)

        gradient = mindspore.value_and_grad(forward, None, optimizer.parameters)
        for image, label in programs.pipeline().create_tuple_iterator(num_epochs=1):
            _, gradients = gradient(image, label)
            optimizer(gradients)
    call = only(seen)
    assert (value(call, "execution_mode"), value(call, "amp_level")) == ("GRAPH_MODE", "O2")
    assert judge("graph_mode", seen).verdict.value == "pass"
    assert judge("amp_level", seen, "O2").verdict.value == "pass"
    assert (seen.casts[0].name, seen.casts[0].value) == ("auto_mixed_precision", "O2")


@pytest.mark.parametrize("graph", [True, False])
def test_train_one_step_cell(mindspore: Any, graph: bool) -> None:
    nn = mindspore.nn
    mindspore.set_context(mode=mindspore.GRAPH_MODE if graph else mindspore.PYNATIVE_MODE)
    net = programs.network()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, programs.loss()), nn.Momentum(net.trainable_params(), 0.01, 0.9))
    step.set_train()
    with observing() as seen:
        for batch in programs.pipeline().create_tuple_iterator(num_epochs=1):
            step(*batch)
    assert only(seen).function == "TrainOneStepCell"


@pytest.mark.parametrize("update", [True, False])
def test_jit_counts_as_graph_for_what_it_covers(mindspore: Any, judge: Any, update: bool) -> None:
    net, loss = programs.network(), programs.loss()
    optimizer = mindspore.nn.Momentum(net.trainable_params(), 0.01, 0.9)

    def forward(image: Any, label: Any) -> Any:
        return loss(net(image), label)

    gradient = mindspore.value_and_grad(forward, None, optimizer.parameters)

    @mindspore.jit  # type: ignore[untyped-decorator]
    def whole_step(image: Any, label: Any) -> Any:
        value, gradients = gradient(image, label)
        optimizer(gradients)
        return value

    @mindspore.jit  # type: ignore[untyped-decorator]
    def only_gradient(image: Any, label: Any) -> Any:
        return gradient(image, label)

    step = whole_step if update else only_gradient
    with observing() as seen:
        for image, label in programs.pipeline().create_tuple_iterator(num_epochs=1):
            step(image, label)
    finding = judge("graph_mode", seen)
    assert only(seen).function.startswith("@jit")
    assert finding.verdict.value == ("pass" if update else "fail")
    assert step.__name__ in " ".join([*finding.notes, finding.cause])


def inside_step(mindspore: Any, how: str) -> tuple[Any, Any]:
    """A step that makes its gradient itself, and its network."""
    ms, net, criterion = mindspore, programs.network(), programs.loss()
    optimizer = ms.nn.Momentum(net.trainable_params(), 0.01, 0.9)
    with_loss = ms.nn.WithLossCell(net, criterion)

    def by_value_and_grad(image: Any, label: Any) -> Any:
        value, gradients = ms.value_and_grad(with_loss, None, optimizer.parameters)(image, label)
        optimizer(gradients)
        return value

    def by_ops(image: Any, label: Any) -> Any:
        return optimizer(ms.ops.grad(with_loss, None, optimizer.parameters)(image, label))

    def by_operation(image: Any, label: Any) -> Any:
        return optimizer(ms.ops.GradOperation(get_by_list=True)(with_loss, optimizer.parameters)(image, label))

    def without(image: Any, label: Any) -> Any:
        return ms.ops.relu(with_loss(image, label))

    return ms.jit({one.__name__: one for one in (by_value_and_grad, by_ops, by_operation, without)}[how]), net


@pytest.mark.parametrize("how", ["by_value_and_grad", "by_ops", "by_operation", "without"])
@pytest.mark.parametrize("graph", [True, False])
def test_a_gradient_made_inside_a_jitted_step(mindspore: Any, judge: Any, how: str, graph: bool) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE if graph else mindspore.PYNATIVE_MODE)
    step, net = inside_step(mindspore, how)
    before = net.trainable_params()[0].asnumpy().copy()
    with observing() as seen:
        image, label = next(programs.pipeline().create_tuple_iterator(num_epochs=1))
        step(image, label)
    trained = bool((net.trainable_params()[0].asnumpy() != before).any())
    assert trained is (how != "without")
    assert len(seen.calls) == trained
    assert not trained or judge("graph_mode", seen).verdict.value == "pass"


def test_a_cell_that_makes_its_gradient_in_construct(mindspore: Any) -> None:
    ms = mindspore
    ms.set_context(mode=ms.GRAPH_MODE)

    class Step(ms.nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__(auto_prefix=False)
            self.network = ms.nn.WithLossCell(programs.network(), programs.loss())
            self.optimizer = ms.nn.Momentum(self.network.trainable_params(), 0.01, 0.9)
            self.weights = self.optimizer.parameters

        def construct(self, image: Any, label: Any) -> Any:
            return self.optimizer(ms.ops.grad(self.network, None, self.weights)(image, label))

    step = Step()
    with observing() as seen:
        step(*next(programs.pipeline().create_tuple_iterator(num_epochs=1)))
    assert only(seen).function == "Step"


def test_data_sink_is_a_training_call(mindspore: Any) -> None:
    data_sink = mindspore.data_sink
    with observing() as seen, pytest.raises(ValueError, match="sink"):
        data_sink(lambda image, label: image, programs.pipeline(), sink_size=2)
    call = only(seen)
    assert (call.function, value(call, "sink_mode"), value(call, "sink_size")) == ("data_sink", True, 2)


def test_a_late_import_is_seen_and_without_one_mindspore_is_not_loaded() -> None:
    script = """
        import sys
        sys.path.insert(0, "tests/training")
        from pytest_ascendenv.training.observe import observing
        with observing():
            pass
        assert not any(name in sys.modules for name in ("mindspore", "numpy"))
        with observing() as seen:
            import programs
            from mindspore.train import Model
            programs.model().train(1, programs.pipeline(), dataset_sink_mode=True)
        assert [call.function for call in seen.calls] == ["Model.train"], seen
        assert "_AfterImport" not in str(sys.meta_path)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)


def test_a_stand_in_for_mindspore_leaves_the_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = type(sys)("mindspore")
    monkeypatch.setitem(sys.modules, "mindspore", stand_in)
    with observing() as seen:
        stand_in.answer = 42
    assert "is no MindSpore that can be watched" in seen.unread[0]


@pytest.mark.parametrize("graph", [True, False])
@pytest.mark.parametrize("attacked", [True, False])
def test_a_cell_takes_the_gradient_and_an_optimizer_applies_it(mindspore: Any, graph: bool, attacked: bool) -> None:
    ms, net = mindspore, programs.network()
    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)
    with_loss = ms.nn.WithLossCell(net, programs.loss()).set_train()
    first, second = ms.nn.Momentum(net[0].trainable_params(), 0.01, 0.9), ms.nn.SGD(net[-1].trainable_params())
    weights = ms.ParameterTuple([*first.parameters, *second.parameters])
    gradient = ms.nn.ForwardValueAndGrad(with_loss, weights=weights, get_by_list=True)
    attack = ms.grad(with_loss, grad_position=0)
    before = net[-1].weight.asnumpy().copy()
    with observing() as seen:
        for image, label in programs.pipeline().create_tuple_iterator(num_epochs=1):
            if attacked:
                image = image + attack(image, label)
            _, gradients = gradient(image, label)
            first(gradients[: len(first.parameters)])
            second(gradients[len(first.parameters) :])
    assert (net[-1].weight.asnumpy() != before).any()
    assert only(seen).function == ("ForwardValueAndGrad" if graph else "the gradient of WithLossCell")


def test_gradients_and_evaluations_without_an_update_are_no_training(mindspore: Any) -> None:
    ms, net = mindspore, programs.network()
    with_loss = ms.nn.WithLossCell(net, programs.loss())
    ms.nn.Momentum(net.trainable_params(), 0.01, 0.9)
    with observing() as seen:
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            image, label = next(programs.pipeline().create_tuple_iterator(num_epochs=1))
            ms.grad(with_loss, grad_position=0)(image, label)
            ms.ops.GradOperation()(with_loss)(image, label)
            with_loss(image, label)
    assert seen.calls == []


def test_nothing_is_left_in_the_classes_of_optimizers(mindspore: Any) -> None:
    from mindspore.experimental import optim

    with observing():
        pass
    assert not any("__call__" in vars(kind) for kind in (mindspore.nn.Optimizer, optim.Optimizer))


def test_a_jitted_update_is_whole_with_the_gradient_it_completes(mindspore: Any, judge: Any) -> None:
    ms, net = mindspore, programs.network()
    with_loss = ms.nn.WithLossCell(net, programs.loss())
    optimizer = ms.nn.Momentum(net.trainable_params(), 0.01, 0.9)
    weights = optimizer.parameters

    @ms.jit  # type: ignore[untyped-decorator]
    def gradient(image: Any, label: Any) -> Any:
        return ms.grad(with_loss, None, weights)(image, label)

    @ms.jit  # type: ignore[untyped-decorator]
    def update(gradients: Any) -> Any:
        return optimizer(gradients)

    with observing() as seen:
        for image, label in programs.pipeline().create_tuple_iterator(num_epochs=1):
            update(gradient(image, label))
    call = only(seen)
    assert (call.function, value(call, "amp_level")) == ("@jit " + update.__qualname__.replace("<locals>.", ""), "O0")


def test_a_teacher_beside_the_network_is_not_what_trains(mindspore: Any) -> None:
    ms = mindspore
    net, teacher = programs.network().to_float(ms.float16), programs.network()
    teacher.update_parameters_name("teacher.")  # in one graph no two may have the same
    criterion, optimizer = programs.loss(), ms.nn.Momentum(net.trainable_params(), 0.01, 0.9)

    def forward(image: Any, label: Any) -> Any:
        return criterion(net(image), label) + (net(image) - teacher(image)).mean()

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    @ms.jit  # type: ignore[untyped-decorator]
    def step(image: Any, label: Any) -> Any:
        value, gradients = gradient(image, label)
        optimizer(gradients)
        return value

    with observing() as seen:
        step(*next(programs.pipeline().create_tuple_iterator(num_epochs=1)))
    assert value(only(seen), "amp_level") == "O3"
