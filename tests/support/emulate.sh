# emulate.sh TEST: a compiled test under $ULPSCOPE_EMULATOR, a script as it is.
case $1 in
*.sh) exec "$@" ;;
*) exec $ULPSCOPE_EMULATOR "$@" ;;
esac
