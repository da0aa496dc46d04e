# libcore: src/load
