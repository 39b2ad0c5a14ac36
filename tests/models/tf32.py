"""What TF32 itself costs a model: the model with the operands of every product rounded to TF32's 11 bits, for onnxruntime.

Rounding is Veltkamp's: with c = 8193 x, c - (c - x) is x to 24 - 13 bits, by float arithmetic alone.
"""
import numpy
import onnx
from onnx import helper, numpy_helper

OPERANDS = {"Conv": (0, 1), "ConvTranspose": (0, 1), "MatMul": (0, 1), "Gemm": (0, 1), "LSTM": (0, 1, 2, 5)}
FACTOR = "tf32_factor"


class Rounding:
    def __init__(self):
        self.count = 0

    def nodes(self, name):
        """Three nodes that round, and the name of the result."""
        self.count += 1
        c, rest, high = (f"tf32_{part}_{self.count}" for part in ("c", "rest", "high"))
        steps = (("Mul", [name, FACTOR], c), ("Sub", [c, name], rest), ("Sub", [c, rest], high))
        return [helper.make_node(op, inputs, [output]) for op, inputs, output in steps], high

    def graph(self, graph):
        """Branches of an If are graphs too; what they share with the graph around them is rounded again there."""
        nodes, done = [], {}
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    self.graph(attribute.g)
            for index in OPERANDS.get(node.op_type, ()):
                if index >= len(node.input) or not node.input[index]:
                    continue
                name = node.input[index]
                if name not in done:
                    more, done[name] = self.nodes(name)
                    nodes += more
                node.input[index] = done[name]
            nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)


def write(source, target):
    model = onnx.load(source)
    Rounding().graph(model.graph)
    model.graph.initializer.append(numpy_helper.from_array(numpy.float32(8193), FACTOR))
    onnx.save(model, target)
