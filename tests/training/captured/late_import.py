import sys

assert "mindspore" not in sys.modules


def main():
    import mindspore
    from parts import images, loss, momentum, net

    network = net()
    mindspore.Model(network, loss(), momentum(network)).fit(4, images(), dataset_sink_mode=True)


main()
