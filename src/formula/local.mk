# libcore: src/formula
