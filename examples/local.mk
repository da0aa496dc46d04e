# The walkthroughs: pages, and the scripts that make their models.
dist_doc_DATA += doc/walkthrough-1.md doc/walkthrough-2.md doc/walkthrough-3.md doc/walkthrough-4.md
EXTRA_DIST += doc/README.md %D%/onnx_writer.py \
	%D%/walkthrough/model.py %D%/walkthrough/mixed.py %D%/walkthrough/quantised.py %D%/walkthrough/detector.py %D%/walkthrough/text_encoder.py
