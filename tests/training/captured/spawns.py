import multiprocessing


def work():
    import mindspore as ms
    from parts import images, loss, momentum, net

    network = net()
    ms.Model(network, loss(), momentum(network)).train(9, images())


if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
