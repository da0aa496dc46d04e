#!/usr/bin/env bash
# scripts/install-packages waits for a package manager that is busy, not for ever, and not for other failures. Fakes of apt-get and
# dpkg-query stand for the system's: the message is apt's own.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
mkdir fakes
printf '#!/bin/sh\nexit 1\n' >fakes/dpkg-query
printf '#!/bin/sh\nexec "$@"\n' >fakes/sudo
cat >fakes/apt-get <<'EOF'
#!/bin/sh
echo "$@" >>calls
if [ "$(wc -l <calls)" -le "$(cat busy)" ]; then
    echo "$(cat message)" >&2
    exit 100
fi
EOF
chmod +x fakes/*
install() { PATH=$work/fakes:$PATH ULPSCOPE_APT_WAIT=${1:-60} "$source/scripts/install-packages"; }
lock="E: Could not get lock /var/lib/apt/lists/lock. It is held by process 12 (apt-get)"
echo "$lock" >message
echo 2 >busy
expect 0 "a manager that is busy for a while" install
shows err "another package manager is busy: waiting for it, 60 seconds at most" "a busy manager"
[ "$(grep -c update calls) $(grep -c 'install -y' calls)" = "3 1" ] || fail "apt-get was called otherwise: $(cat calls)"
rm calls
echo 99 >busy
expect 100 "a manager that stays busy" install 1
shows err "$lock" "a manager that stays busy"
rm calls
echo "E: Unable to locate package gcc" >message
expect 100 "another failure" install
[ "$(wc -l <calls)" = 1 ] || fail "another failure was tried again"
exit $failed
