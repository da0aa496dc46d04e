dist_check_SCRIPTS += %D%/check_layers.sh %D%/check_symbols.sh %D%/check_cli.sh
TESTS += %D%/check_layers.sh %D%/check_symbols.sh %D%/check_cli.sh
