# libcore: src/run
