"""Rank 0 prepares while the others wait, and they share what they know, before training."""

import mindspore as ms
from mindspore.communication import (
    comm_func,
    create_group,
    get_group_rank_from_world_rank,
    get_group_size,
    get_process_group_ranks,
    get_rank,
    init,
)
from parts import images, loss, momentum, net

init()
if get_rank() == 0:
    print("prepared")
comm_func.barrier()
create_group("every_second", [0, 2, 4, 6])
assert (get_group_size(), get_group_size("every_second"), get_rank("every_second")) == (8, 4, 0)
assert get_group_rank_from_world_rank(4, "every_second") == 2
assert get_process_group_ranks("every_second") == [0, 2, 4, 6]
rows, _ = comm_func.all_reduce(ms.Tensor([3.0]))
gathered, handle = comm_func.all_gather_into_tensor(ms.Tensor([3.0]), group="every_second", async_op=True)
handle.wait()
largest, _ = comm_func.all_reduce(tensor=ms.Tensor([3]), op=ms.ops.ReduceOp.MAX)
assert (rows.asnumpy().tolist(), gathered.shape, largest.asnumpy().tolist()) == ([24.0], (4,), [3])
assert comm_func.broadcast(rows, src=0).shape == (1,)
network = net()
ms.Model(network, loss(), momentum(network)).train(1, images())
