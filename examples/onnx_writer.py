"""Write small ONNX models without the onnx package: just enough protobuf for nodes, attributes, initialisers and graph inputs."""
import struct

FLOAT, INT64, FLOAT16 = 1, 7, 10  # TensorProto.DataType
TYPES = {"f4": FLOAT, "u1": 2, "i1": 3, "u2": 4, "i4": 6, "i8": INT64, "b1": 9, "f2": FLOAT16}  # by numpy's names


def varint(value):
    value &= (1 << 64) - 1  # negative numbers take ten bytes
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    """A length-delimited field: text, bytes or a message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def single(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def attribute(name, value):
    """AttributeProto of a float, int, string, array, graph() or list of ints, floats or strings."""
    head = block(1, name)
    if hasattr(value, "dtype"):
        return head + block(5, initialiser("", value)) + number(20, 4)
    if isinstance(value, bytes):
        return head + block(6, value) + number(20, 5)
    if isinstance(value, float):
        return head + single(2, value) + number(20, 1)
    if isinstance(value, int):
        return head + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return head + block(4, value) + number(20, 3)
    if all(isinstance(item, int) for item in value):
        return head + b"".join(number(8, item) for item in value) + number(20, 7)
    if all(isinstance(item, str) for item in value):
        return head + b"".join(block(9, item) for item in value) + number(20, 8)
    return head + b"".join(single(7, item) for item in value) + number(20, 6)


def node(op, inputs, outputs, called=None, **attributes):
    """NodeProto; inputs and outputs are names separated by spaces, "-" for one left out. Its name: that of its first output."""
    read, made = ([name if name != "-" else "" for name in names.split()] for names in (inputs, outputs))
    return (b"".join(block(1, name) for name in read) + b"".join(block(2, name) for name in made) +
            block(3, called or next(name for name in made if name)) + block(4, op) +
            b"".join(block(5, attribute(name, value)) for name, value in attributes.items()))


def initialiser(name, array):
    """TensorProto of an array of one of TYPES; other floats are written as FP32, other integers as INT64. Of a type that numpy lacks: (type, shape, bytes)."""
    if isinstance(array, tuple):
        data_type, shape, data = array
        return b"".join(number(1, size) for size in shape) + number(2, data_type) + block(8, name) + block(9, data)
    import numpy as np  # needed here alone
    array = np.asarray(array)
    kind = array.dtype.str[1:]
    if kind not in TYPES:
        kind = "i8" if array.dtype.kind in "iu" else "f4"
    array = array.astype("<" + kind)
    return (b"".join(number(1, size) for size in array.shape) + number(2, TYPES[kind]) + block(8, name) + block(9, array.tobytes()))


def value(name, shape, data_type=FLOAT):
    """ValueInfoProto; shape: sizes, names of symbolic ones and None for open ones without a name; None: unknown."""
    kind = number(1, data_type)
    if shape is not None:
        kind += block(2, b"".join(block(1, block(2, size) if isinstance(size, str) else b"" if size is None else number(1, size)) for size in shape))
    return block(1, name) + block(2, block(1, kind))


def graph(nodes, inputs, outputs, initialisers=None, name="test", types=None):
    """GraphProto, also of a body. nodes: from node(); inputs: {name: shape}; outputs: names, or {name: shape}; initialisers: {name: array}; types: of inputs and outputs that are not FP32."""
    types = types or {}
    outputs = outputs if isinstance(outputs, dict) else {key: None for key in outputs}
    return (b"".join(block(1, item) for item in nodes) + block(2, name) +
            b"".join(block(5, initialiser(*item)) for item in (initialisers or {}).items()) +
            b"".join(block(11, value(*item, types.get(item[0], FLOAT))) for item in inputs.items()) +
            b"".join(block(12, value(*item, types.get(item[0], FLOAT))) for item in outputs.items()))


def write_model(path, nodes, inputs, outputs, initialisers=None, opset=24, ir_version=10, name="test", types=None, domains=None):
    """What graph() takes, as a file. Nodes of another domain: node() + block(7, DOMAIN), and domains: {DOMAIN: version}."""
    with open(path, "wb") as file:
        file.write(number(1, ir_version) + block(7, graph(nodes, inputs, outputs, initialisers, name, types)) +
                   b"".join(block(8, block(1, domain) + number(2, version)) for domain, version in {"": opset, **(domains or {})}.items()))
