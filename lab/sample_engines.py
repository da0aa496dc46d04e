#!/usr/bin/env python3
"""Write tests/data/engine: small descriptions of engines, by hand, in the forms of TensorRT 8.4 to 11 (doc/engine.md).

They are of the model in tests/analysis/check_engine.c:

    x [4,32] -> /fc1/MatMul -> /fc1/Add -> /act/Relu -> /fc.2/MatMul -> /soft/Softmax -> y [4,8]

    python3 lab/sample_engines.py tests/data/engine
"""
import json
import os
import sys

LINEAR = {"Half": "Row major linear FP16 format", "Float": "Row major linear FP32", "Int8": "Row major Int8 format"}
GEMM = "sm80_xmma_gemm_{}_tn_n_tilesize32x32x64_stage6_warpsize2x2x1_tensor16x8x16"
HALF, WIDE, TF32 = "f16f16_f16f16_f16", "f16f16_f16f32_f32", "f32f32_tf32f32_f32"


def tensor(name, dims, kind, modern=False):
    return {"Name": name, "Dimensions": dims, "Format/Datatype": kind if modern else LINEAR[kind]}


def copy(name, source, target, dims, before, after):
    return {"Name": name, "LayerType": "Reformat" if before != after else "NoOp", "Inputs": [tensor(source, dims, before)],
            "Outputs": [tensor(target, dims, after)], "ParameterType": "Reformat", "Origin": "REFORMAT", "TacticValue": "0x3e8"}


def gemm(name, source, target, dims, kind, count, tactic, nodes=None):
    row = {"Name": name, "LayerType": "CaskGemmMatrixMultiply", "Inputs": [tensor(source, dims[0], kind)],
           "Outputs": [tensor(target, dims[1], kind)], "Weights": {"Type": kind, "Count": count}, "Activation": "RELU",
           "TacticName": GEMM.format(tactic), "TacticValue": "0x1"}
    if nodes is not None:
        row["Metadata"] = "\x1e".join("[ONNX Layer: %s]" % n for n in nodes)
    return row


def softmax(source, target, kind, nodes):
    row = {"Name": "__myl_MaxrSubExpSumDivMul_myl3_1", "LayerType": "kgen", "Inputs": [tensor(source, [4, 8], kind, True)],
           "Outputs": [tensor(target, [4, 8], kind, True)], "TacticName": "__myl_MaxrSubExpSumDivMul_0x12ab"}
    if nodes:
        row["Metadata"] = "\x1f".join("[ONNX Layer: %s]" % n for n in nodes)
    return row


FIRST = ["/fc1/MatMul", "/fc1/Add", "/act/Relu"]


def engine(first, second, first_type="Half", second_type="Half", names=("/fc1/MatMul + /fc1/Add + /act/Relu", "/fc.2/MatMul"),
           metadata=True, soft="Half"):
    """The whole: a copy in, two products, a softmax, a copy out. h3 and h4 are the model's values."""
    rows = []
    x, h3, h4 = "x", "h3", "h4"
    if first_type == "Half":
        rows.append(copy("Reformatting CopyNode for Input Tensor 0 to " + names[0], "x",
                         "Reformatted Input Tensor 0 to " + names[0], [4, 32], "Float", "Half"))
        x = rows[-1]["Outputs"][0]["Name"]
    rows.append(gemm(names[0], x, h3, ([4, 32], [4, 32]), first_type, 1024, first, FIRST if metadata else None))
    if first_type != second_type:
        rows.append(copy("Reformatting CopyNode for Input Tensor 0 to " + names[1], h3,
                         "Reformatted Input Tensor 0 to " + names[1], [4, 32], first_type, second_type))
        h3 = rows[-1]["Outputs"][0]["Name"]
    rows.append(gemm(names[1], h3, h4, ([4, 32], [4, 8]), second_type, 256, second, ["/fc.2/MatMul"] if metadata else None))
    out = "y" if soft == "Float" else "Reformatted Output Tensor 0 to softmax"
    rows.append(softmax(h4, out, soft, ["/soft/Softmax"] if metadata else None))
    if soft != "Float":
        rows.append(copy("Reformatting CopyNode for Output Tensor 0 to softmax", out, "y", [4, 8], soft, "Float"))
    return {"Layers": rows, "Bindings": ["x", "y"]}


def newest(document):
    """TensorRT 11: all rows as Myelin's, types and constants in fields of their own."""
    rows = []
    for number, row in enumerate(document["Layers"]):
        kind = {"Float": "Float", "Half": "Half"}
        def convert(t):
            word = "Half" if "FP16" in t["Format/Datatype"] or t["Format/Datatype"] == "Half" else "Float"
            return {"Name": t["Name"], "Dimensions": [-1] + t["Dimensions"][1:], "Strides": [1, 1], "StrideOrder": [1, 0],
                    "Datatype": kind[word], "Format": "(Linear) Row major linear format"}
        out = {"Name": row["Name"].replace(" + ", "+") + "_myl0_%d" % number, "LayerType": "gemm" if "Weights" in row else "kgen",
               "Inputs": [convert(t) for t in row["Inputs"]], "Constants": [],
               "Outputs": [convert(t) for t in row["Outputs"]],
               "TacticName": row.get("TacticName", "__myl_Move_0x1"), "StreamId": 0,
               "Metadata": row.get("Metadata", "").replace("\x1e", "\x1f")}
        if "Weights" in row:
            out["Constants"] = [{"Name": "alpha_myl0", "Dimensions": [1], "Datatype": "Float", "Format": "(Linear) Row major linear format"},
                                {"Name": "w_constant_myl0", "Dimensions": [32, 8], "Datatype": row["Weights"]["Type"],
                                 "Format": "(Linear) Row major linear format"}]
        rows.append(out)
    return {"Layers": rows, "Bindings": document["Bindings"]}


def foreign():
    name = "{ForeignNode[/fc1/MatMul.../soft/Softmax]}"
    return {"Layers": [{"Name": name, "LayerType": "Myelin", "Inputs": [tensor("x", [4, 32], "Float")], "Outputs": [tensor("y", [4, 8], "Float")],
                        "TacticName": "", "Metadata": ""}], "Bindings": ["x", "y"]}


def profiles(document):
    rows = [dict(row) for row in document["Layers"]]
    return {"Layers": rows + [dict(row, Name=row["Name"] + " [profile 1]") for row in rows], "Bindings": ["x", "y", "x [profile 1]", "y [profile 1]"]}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    half = engine(HALF, WIDE)
    documents = {
        "trt84_numbered": engine(HALF, WIDE, names=("MatMul_0 + Add_1 + Relu_2", "MatMul_3"), metadata=False),
        "trt10_half": half,
        "trt10_wide": engine(WIDE, WIDE),
        "trt10_mixed": engine(HALF, TF32, "Half", "Float", soft="Float"),
        "trt10_fp16_claimed": engine(TF32, TF32, "Float", "Float", soft="Float"),
        "trt11_half": newest(half),
        "foreign": foreign(),
        "profiles": profiles(half),
        "names_only": {"Layers": [row["Name"] for row in half["Layers"]], "Bindings": ["x", "y"]},
    }
    for name, document in documents.items():
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as out:
            json.dump(document, out, indent=1)
            out.write("\n")
    with open(os.path.join(folder, "concatenated.json"), "w", encoding="utf-8") as out:
        out.write("\n".join(json.dumps(row) for row in half["Layers"]) + "\n")


if __name__ == "__main__":
    main()
