test_programs += check_contract check_unit check_unit_contract check_unit_recorded check_wide
check_contract_SOURCES = %D%/check_contract.c %D%/chain_oracle.c %D%/chain_oracle.h %D%/check_integers.c \
	%D%/check_pack.c %D%/check_byte_pairs.c %D%/check_special.c %D%/instance.c %D%/instance.h
unit_tile = %D%/unit_operands.c %D%/unit_operands.h %D%/unit_tile.c %D%/unit_tile.h
check_unit_SOURCES = %D%/check_unit.c $(unit_tile)
test_programs += check_pair_tile
check_pair_tile_SOURCES = %D%/check_pair_tile.c
test_programs += check_unit_lane
check_unit_lane_SOURCES = %D%/check_unit_lane.c $(unit_tile)
check_unit_contract_SOURCES = %D%/check_unit_contract.c
check_unit_recorded_SOURCES = %D%/check_unit_recorded.c
test_programs += check_unit_vectors
check_unit_vectors_SOURCES = %D%/check_unit_vectors.c
test_programs += check_cublas
check_cublas_SOURCES = %D%/check_cublas.c
test_programs += check_scaled
check_scaled_SOURCES = %D%/check_scaled.c
check_wide_SOURCES = %D%/check_wide.c %D%/exact/world.c %D%/exact/world.h
TESTS += %D%/check_contract_cpu.sh
$(also)%D%/check_contract_cpu.sh.log: check_contract$(EXEEXT) check_scaled$(EXEEXT)
dist_check_SCRIPTS += %D%/check_contract_cpu.sh
EXTRA_DIST += tests/data/unit/SOURCES.md tests/data/unit/h100_recurrent.npz tests/data/unit/h200_attention.npz tests/data/unit/h200_attention_short.npz tests/data/unit/h200_conv_channels.npz tests/data/unit/h200_conv_fp8.npz tests/data/unit/h200_fp8_scaled.npz tests/data/unit/h200_gemm.npz tests/data/unit/h200_gemm16.npz tests/data/unit/h200_mma.npz tests/data/unit/h200_probes.npz \
	tests/data/unit/h200_unary.npz tests/data/unit/h200_units.npz tests/data/unit/h200_wgmma.npz tests/data/unit/mmasim.npz tests/data/unit/other_gpus.npz
