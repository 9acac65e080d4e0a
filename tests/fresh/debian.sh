#!/bin/sh
# The README's two commands in a bare Debian 12: a root with nothing but minbase and git, a fresh
# clone of what is committed here. Needs root, debootstrap, about 3 GiB and a network.
#
# usage: debian.sh [demo|test|both] [DIR]
#
# The root is made in DIR (default: a new temporary folder, removed at the end; a DIR is kept). The mirror is
# DEBIAN_MIRROR, else the first of this machine's apt sources. What apt needs to reach it (its own
# configuration, /etc/hosts, resolv.conf, certificates) is lent to the root.
set -eu
what=${1:-both}
top=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "debian.sh: run it as root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "debian.sh: debootstrap is not installed" >&2; exit 1; }
case $what in demo | test | both) ;; *) sed -n '5p' "$0" >&2; exit 1 ;; esac

mirror=${DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' | head -n 1)}
: "${mirror:=http://deb.debian.org/debian}"

keep=${2:-}
root=${2:-$(mktemp -d)}
mkdir -p "$root"
clear_up() {
  for place in proc sys dev; do umount -l "$root/$place" 2>/dev/null || :; done
  [ -n "$keep" ] || rm -rf --one-file-system "$root"
}
trap clear_up EXIT
trap 'exit 130' INT TERM

start=$(date +%s)
say() { echo "debian.sh: $* ($(($(date +%s) - start)) s)"; }

if [ ! -e "$root/etc/debian_version" ]; then
  debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log" >&2
    exit 1
  }
  rm -f "$root.log"
fi
for file in /etc/resolv.conf /etc/hosts; do cp -L "$file" "$root$file"; done
cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
[ ! -d /usr/local/share/ca-certificates ] || cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sys "$root/sys"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
say "root of Debian $(cat "$root/etc/debian_version")"

rm -rf "$root/root/tilewright"
git clone -q --no-local "$top" "$root/root/tilewright"
git -C "$root/root/tilewright" remote remove origin
inside() {
  chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
    sh -c "cd /root/tilewright && $1"
}
if [ "$what" != test ]; then
  inside "./bootstrap demo"
  say "./bootstrap demo is good"
fi
if [ "$what" != demo ]; then
  inside "./bootstrap test"
  say "./bootstrap test is good"
fi
