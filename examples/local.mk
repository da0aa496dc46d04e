# The walkthroughs: pages, and the scripts that make their models.
dist_pages_DATA += doc/walkthrough-1.md doc/walkthrough-2.md doc/walkthrough-3.md doc/walkthrough-4.md doc/walkthrough-5.md doc/causes.md doc/README.md
causesdir = $(examplesdir)/causes
dist_causes_DATA = %D%/causes/beyond.py %D%/causes/causes.py %D%/causes/causes.tsv %D%/causes/parts.py %D%/causes/within.py
dist_examples_DATA += %D%/onnx_writer.py
notebooksdir = $(examplesdir)/notebooks
dist_notebooks_DATA = %D%/notebooks/1-audit-and-mend.ipynb %D%/notebooks/2-plan-for-tensorrt.ipynb %D%/notebooks/3-fp8-and-fp4.ipynb \
	%D%/notebooks/4-rounding.ipynb %D%/notebooks/5-explain-a-recording.ipynb %D%/notebooks/6-study.ipynb
walkthroughdir = $(examplesdir)/walkthrough
dist_walkthrough_DATA = %D%/walkthrough/model.py %D%/walkthrough/mixed.py %D%/walkthrough/quantised.py %D%/walkthrough/detector.py %D%/walkthrough/text_encoder.py %D%/walkthrough/attention.py %D%/walkthrough/decoder.py %D%/walkthrough/stack.py
