# emulate.sh TEST: a compiled test under $ULPSCOPE_EMULATOR, its seconds last in its log; a script as it is.
case $1 in
*.sh) exec "$@" ;;
esac
start=$(date +%s)
status=0
$ULPSCOPE_EMULATOR "$@" || status=$?
echo "took $(($(date +%s) - start)) s"
exit $status
