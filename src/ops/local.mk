# libcore: src/ops
