# What records, compares and measures beside GPUs and other runtimes: README.md. CI runs none of it but what a test names.
include lab/bench/local.mk
EXTRA_DIST += %D%/README.md %D%/gpu.md %D%/plans.md %D%/scales.md
EXTRA_DIST += %D%/case_archive.py %D%/compare_attention.py %D%/compare_autocast.py %D%/compare_bits.py %D%/compare_builds.py %D%/compare_conv.py %D%/compare_extract.py %D%/compare_fused.py %D%/compare_cmsis.py %D%/compare_decoders.py %D%/compare_tflite.py %D%/train_text_model.py %D%/pretrained_text_model.py
EXTRA_DIST += %D%/compare_fused_overflow.py %D%/compare_gpu.py %D%/compare_h200.py %D%/compare_htp.py %D%/compare_mixed.py %D%/compare_mmasim.py %D%/compare_modelopt.py %D%/compare_operators.py %D%/compare_openvino.py %D%/compare_pairs.py %D%/compare_written.py %D%/compare_ort.py %D%/compare_ort_cuda.py
EXTRA_DIST += %D%/compare_overflow.py %D%/compare_plans.py %D%/compare_quantise.py %D%/compare_quantisers.py %D%/compare_recurrent.py %D%/compare_rtx.py %D%/compare_split_k.py %D%/compare_tolerance.py %D%/conv_kernel_table.py
EXTRA_DIST += %D%/fit_cuda_functions.py %D%/fit_cuda_search.c %D%/fused_groups.py %D%/measure_attribution.py %D%/measure_draws.py %D%/measure_fix.py %D%/measure_formats.py %D%/measure_plan.py
EXTRA_DIST += %D%/measure_rotation.py %D%/record_attention.py %D%/record_bits.py %D%/record_conv_kernels.py %D%/record_gemms.py %D%/record_h200.py %D%/record_microsoft_ops.py %D%/record_mufu.py
EXTRA_DIST += %D%/record_ort_cpu.py %D%/record_ort_choices.py %D%/record_ort_joins.py %D%/record_ort_cuda.py %D%/record_plans.py %D%/record_recurrent.py %D%/record_rknn.py %D%/record_saturating.py %D%/record_split_k.py %D%/record_sum_order.py %D%/record_tensorrt_ops.py %D%/record_text_model.py %D%/record_units.py %D%/record_webgpu.py %D%/sample_engines.py
EXTRA_DIST += %D%/compare_recorded.py %D%/sample_unit_vectors.py %D%/scales_table.py %D%/split_k_table.py %D%/targets_table.py %D%/vulkan_shim.c
EXTRA_DIST += %D%/fault_kinds.py %D%/fault_kinds_floats.py %D%/fault_kinds_public.py %D%/judge_faults.py %D%/judge_preparations.py %D%/plant_faults.py
EXTRA_DIST += %D%/walk_coverage.py %D%/compare_dropin.py %D%/scorecard.py tests/data/scorecard.json
EXTRA_DIST += %D%/upstream/ort_cast_segfault.py %D%/upstream/ort_layernorm_casts.py %D%/upstream/ort_u8s8.py %D%/upstream/ort_webgpu_conv.py
