# libcore: src/kernels
