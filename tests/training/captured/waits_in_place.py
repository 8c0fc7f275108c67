"""The same with the functions that write into their arguments; ops.communication came with MindSpore 2.9."""

import importlib.util
import sys

import mindspore as ms
from parts import images, loss, momentum, net

name = sys.argv[1] if importlib.util.find_spec(sys.argv[1]) else "mindspore.mint.distributed"
group = importlib.import_module(name)
group.init_process_group(world_size=8)
assert group.is_initialized()
group.barrier()
assert (group.get_rank(), group.get_world_size()) == (0, 8)
half = group.new_group([0, 2, 4, 6])
assert (group.get_world_size(half), group.get_group_rank(half, 6)) == (4, 3)
rows = ms.Tensor([3.0])
group.all_reduce(rows)
handle = group.broadcast(rows, src=0, async_op=True)
handle.wait()
parts = [ms.Tensor([0.0]) for _ in range(8)]
group.all_gather(parts, rows)
assert [part.asnumpy().tolist() for part in parts] == [[24.0]] * 8
names = [None] * 4
group.all_gather_object(names, "run7", group=half)
assert names == ["run7"] * 4
network = net()
ms.Model(network, loss(), momentum(network)).train(1, images())
