# libcore: src/graph
