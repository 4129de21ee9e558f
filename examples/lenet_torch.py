"""A network of MindSpore, rebuilt in PyTorch: one training step with the weights and the inputs of a MindSpore dump."""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

# DUMP/rank_RANK/NET/GRAPH/ITERATION
STEP = Path(sys.argv[1]) / "rank_0" / "Net" / "0" / "0"


def recorded(op: str, slot: int) -> torch.Tensor:
    """Give what an op of MindSpore read: its file is TYPE.SCOPES_TYPE-opN.TASK.STREAM.TIME.input.SLOT.FORMAT.DTYPE.npy."""
    (file,) = STEP.glob(f"*.Default_*_{op}-op0.*.input.{slot}.*.npy")
    return torch.from_numpy(np.load(file))


class LeNet(nn.Module):
    """The network as it was written for MindSpore, with the defaults that PyTorch has."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 6, 3, bias=False)
        self.pool = nn.MaxPool2d(2, 2)
        self.relu = nn.ReLU()
        self.flat = nn.Flatten()
        self.fc1 = nn.Linear(6, 12)
        self.fc2 = nn.Linear(12, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Classify digits of shape (batch, 1, 8, 8)."""
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.pool(self.relu(self.conv2(x)))
        return self.fc2(self.relu(self.fc1(self.flat(x))))


torch.set_num_threads(1)
net = LeNet()
# The mistake of which the page tells how it is found.
if "--wrong-eps" in sys.argv:
    net.bn1.eps = 1e-3
net.load_state_dict(
    {
        "conv1.weight": recorded("conv1-Conv2d_Conv2D", 1),
        "conv1.bias": recorded("conv1-Conv2d_BiasAdd", 1),
        "bn1.weight": recorded("bn1-BatchNorm2d_BatchNorm", 1),
        "bn1.bias": recorded("bn1-BatchNorm2d_BatchNorm", 2),
        "conv2.weight": recorded("conv2-Conv2d_Conv2D", 1),
        "fc1.weight": recorded("fc1-Dense_MatMul", 1),
        "fc1.bias": recorded("fc1-Dense_BiasAdd", 1),
        "fc2.weight": recorded("fc2-Dense_MatMul", 1),
        "fc2.bias": recorded("fc2-Dense_BiasAdd", 1),
    },
    strict=False,
)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
loss = nn.CrossEntropyLoss()(net(recorded("conv1-Conv2d_Conv2D", 0)), recorded("*_SparseSoftmaxCrossEntropyWithLogits", 1).long())
loss.backward()
optimizer.step()
print(f"loss {loss.item():.6f}")
