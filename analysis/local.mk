# libcore: analysis
