# libcore: src/tensor
