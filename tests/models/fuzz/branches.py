"""Conditionals whose condition is an input or computed."""
import numpy as np
from onnx import helper as oh

from fuzz.part import CALLS, Builder


class Branches(Builder):
    def op_if(self):
        """Both branches read x; the condition is an input or computed."""
        x = self.pick(lambda v: v.rank >= 1)
        if not x:
            return None
        if self.rng.random() < 0.5:
            cond = self.input([], np.bool_)
        else:
            s = self.emit("ReduceMax", [self.pick(lambda v: v.exact and all(0 not in t for t in v.shapes)) or x], [()] * CALLS, keepdims=0)
            if s.shapes and any(0 in t for t in x.shapes):
                return None
            cond = self.emit("Greater", [s, self.constant(self.float(1.0))], [()] * CALLS, np.bool_)
            self.values.remove(cond), self.values.remove(s)
        def branch(kind):
            out, mid = self.name("b"), self.name("b")
            if kind == "relu":
                nodes = [oh.make_node("Relu", [x.name], [mid]), oh.make_node("Add", [mid, x.name], [out])]
            elif kind == "identity":
                nodes = [oh.make_node("Identity", [x.name], [out])]
            elif kind == "softmax":
                nodes = [oh.make_node("Tanh", [x.name], [mid]), oh.make_node("Softmax", [mid], [out], axis=-1)]
            else:
                shape = self.name("b")
                nodes = [oh.make_node("Shape", [x.name], [shape]), oh.make_node("Sigmoid", [x.name], [mid]), oh.make_node("Reshape", [mid, shape], [out], allowzero=1)]
            return oh.make_graph(nodes, self.name("g"), [], [oh.make_tensor_value_info(out, oh.np_dtype_to_tensor_dtype(np.dtype(self.float)), None)])
        kinds = self.rng.sample(["relu", "identity", "softmax", "reshape"], 2)
        if any(0 in s for s in x.shapes) and "softmax" in kinds:
            return None
        return self.emit("If", [cond], x.shapes, then_branch=branch(kinds[0]), else_branch=branch(kinds[1]))
