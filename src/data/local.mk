# libcore: src/data
