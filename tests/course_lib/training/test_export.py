"""Exported parameters: every number is there, once, in a form that any language can read."""

import base64

import numpy as np
import torch
from torch import nn

from course_lib.training.export import export_parameters


def test_numbers_follow_the_shapes_in_order():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    exported = export_parameters(model.half())
    numbers = np.frombuffer(base64.b64decode(exported["float32"]), "<f4")
    assert exported["shapes"] == {"0.weight": [2, 3], "0.bias": [2], "1.weight": [2], "1.bias": [2]}
    expected = torch.cat([parameter.flatten() for parameter in model.parameters()])
    assert numbers.tolist() == expected.float().tolist()


def test_a_shared_parameter_is_there_once():
    model = nn.ModuleDict({"read": nn.Embedding(4, 2), "say": nn.Linear(2, 4, bias=False)})
    model["say"].weight = model["read"].weight
    exported = export_parameters(model)
    assert exported["shapes"] == {"read.weight": [4, 2]}
    assert len(base64.b64decode(exported["float32"])) == 4 * 8
