"""``torch_npu.dynamo``, whose part ``torchair`` is `tensortap.torchair`."""
