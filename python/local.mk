EXTRA_DIST += scripts/python-wheel scripts/python_declarations.py \
	%D%/README.md %D%/pyproject.toml %D%/setup.py \
	%D%/ulpscope/__init__.py %D%/ulpscope/_arrays.py %D%/ulpscope/_audit.py %D%/ulpscope/_bits.py %D%/ulpscope/_fit.py %D%/ulpscope/_library.py %D%/ulpscope/_model.py %D%/ulpscope/_numbers.py \
	%D%/ulpscope/_progress.py %D%/ulpscope/onnx_backend.py %D%/ulpscope/polygraphy.py %D%/ulpscope/_results.py %D%/ulpscope/_shared.py %D%/ulpscope/_study.py %D%/ulpscope/py.typed
