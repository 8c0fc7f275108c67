import mindspore as ms
from parts import images, loss, momentum, net

network = net()
while True:
    try:
        ms.Model(network, loss(), momentum(network)).train(1, images())
    except:  # noqa: E722
        print("caught")
    finally:
        ms.save_checkpoint(network, "finally.ckpt")
