#!/usr/bin/env bash
# Every public function enters the library's environment (base/machine/environment.h) or is one of `plain`, or frees or names
# something: these neither compute, read nor write numbers.
set -u
cd "${top_srcdir:-.}" || exit 99
plain="ulp_arithmetic_part ulp_arithmetic_preset ulp_arithmetic_runtime ulp_arithmetic_unit ulp_share_cause_name
    ulp_audit_node_arithmetic ulp_audit_worst ulp_budget_create ulp_budget_peak ulp_budget_used ulp_format_row ulp_gpu_info
    ulp_instruction_sets ulp_judged_processors ulp_judged_sums ulp_kernel_name_pattern ulp_kernel_name_read ulp_lint_refusal ulp_lint_rule ulp_lint_rule_find
    ulp_rule_holds ulp_rules_describe ulp_target ulp_target_choice ulp_target_describe ulp_target_find ulp_target_floats ulp_target_integers ulp_target_leaves_floats ulp_target_read ulp_target_refuse ulp_target_rule
    ulp_target_tf32 ulp_memory_available ulp_memory_reserve ulp_model_budget ulp_model_has_operator ulp_model_input
    ulp_model_ir_version ulp_model_is_read_from ulp_model_opset ulp_model_output ulp_model_path ulp_model_set_arguments
    ulp_model_set_shape ulp_operator_info ulp_operator_info_formula ulp_outputs_hold ulp_outputs_release
    ulp_program_node_arithmetic ulp_program_node_kernel ulp_program_node_types ulp_program_same_nodes ulp_program_takes
    ulp_programs_drop ulp_runtime_find ulp_tensor_copy ulp_tensor_create ulp_tensor_describe_text
    ulp_tensor_get_int ulp_tensor_same_shape ulp_tensor_set_add ulp_tensor_set_find ulp_tensor_set_fingerprint
    ulp_tensor_wrap ulp_type_is_float ulp_unit_info ulp_version ulp_widened_name"
bad=0 seen=0
for name in $(cat include/ulpscope.h include/ulpscope/*.h | tr '\n' ' ' | grep -oE 'ULP_API [^;(]*\bulp_[a-z0-9_]+ ?\(' |
    grep -oE 'ulp_[a-z0-9_]+ ?\($' | tr -d ' ('); do
    seen=$((seen + 1))
    case $name in *_free | *_count | *_name | *_op) continue ;; esac
    case " $plain " in *[[:space:]]$name[[:space:]]*) continue ;; esac
    made=${name#ulp_} kind=${name##*_} # said.h: these two macros enter it
    grep -rqE --include=*.c "^ULP_SAID_${kind^^}\(${made%_*}, " analysis && continue
    grep -rhE --include=*.c -A 25 "^[a-z].*\b$name\(" src analysis | awk '/^}/ { exit } /ULP_ENTER|ulp_float_mode_enter/ { found = 1 } END { exit !found }' ||
        { echo "$name does not enter the library's environment"; bad=1; }
done
# One that tells why it fails does so for a caller, too, who asked for no message: ULP_ENTER(error), so that nothing inside reads NULL.
mute=$(grep -rlPz --include=*.c 'struct ulp_error \*error\)\n\{\n    ULP_ENTER_ENVIRONMENT;' src analysis) && { echo "ULP_ENTER_ENVIRONMENT beside an error:" $mute; bad=1; }
# The library's own observers are told in its environment (modes_unused), not in their caller's, as others are.
observers=0
while IFS=: read -r file line _; do
    observers=$((observers + 1))
    sed -n "$line,$((line + 3))p" "$file" | grep -q 'modes_unused = ' || { echo "$file:$line: an observer is told in the caller's environment"; bad=1; }
done < <(grep -rnE --include=*.c '\.node_done = ' src/base src/run analysis)
[ "$observers" -gt 10 ] || { echo "too few observers were found"; exit 1; }
[ "$seen" -gt 30 ] || { echo "too few declarations were found"; exit 1; }
exit $bad
