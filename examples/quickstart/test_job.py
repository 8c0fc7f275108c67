"""What this job must get right before it may take a cluster."""

import pytest
from data import create_dataset
from train import main


@pytest.mark.graph_mode
@pytest.mark.amp_level("O2")
@pytest.mark.sink_mode
def test_training_call():
    main()


@pytest.mark.min_throughput(100)
def test_input_pipeline(throughput):
    throughput(create_dataset())
