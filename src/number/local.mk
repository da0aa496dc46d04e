# libcore: src/number
