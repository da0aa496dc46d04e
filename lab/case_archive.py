"""Archives of test cases in ONNX's layout, as lab/record_microsoft_ops.py and lab/record_tensorrt_ops.py write them."""
import zipfile


def add_case(members, case, model, inputs, outputs):
    """inputs, outputs: pairs of a name and an array."""
    from onnx import numpy_helper  # which who has no cases of its own does not need
    members[f"{case}/model.onnx"] = model.SerializeToString()
    for kind, pairs in (("input", inputs), ("output", outputs)):
        for i, (name, array) in enumerate(pairs):
            members[f"{case}/test_data_set_0/{kind}_{i}.pb"] = numpy_helper.from_array(array, name).SerializeToString()


def pack(path, members):
    """The same members give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name), members[name], zipfile.ZIP_DEFLATED, 9)
