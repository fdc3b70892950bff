# What .ci/run and .ci/nightly share. Each has a list of checks, a function check_NAME for each of
# them, and ends with `main "$@"`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

say() { printf '+ %s\n' "$*"; }
run() { say "$@"; "$@"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# What was not checked is told where it should have been, and once more in the last line.
not_run=
left_out() { echo "NOT RUN: $1"; not_run+="${not_run:+; }$1"; }

# In CI nothing is left out because this machine lacks something.
lacking() { [ -z "${CI:-}" ] || fail "$1"; left_out "$1"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Tests are linked without what only a debugger reads, and go vet is a check of its own. A -run that
# matches no test of a package fails: a test that was renamed or moved would go missing in silence.
gotest() {
	local log
	log=$(mktemp -p "$work")
	run go test -vet=off -ldflags='-s -w' -timeout 20m "$@" 2>&1 | tee "$log" || return 1
	! grep -F '[no tests to run]' "$log" >&2 || { echo "no test was run there" >&2; return 1; }
}

# The modules in this repository beside the main one. Those with libraries of other versions take long to build, and so
# the nightly checks have them: conformance/interop, and a driver with old ones, which examples/old-pins/storagesim tests with ours.
nested_modules() { git ls-files --cached --others --exclude-standard -- '*/go.mod' | xargs -rn1 dirname | grep -v -e ^conformance/ -e '^examples/old-pins$'; }

# Test functions of the main module: "./folder TestName". With "Fuzz", those instead.
functions() {
	local skip
	skip=$(nested_modules | paste -sd'|')
	git grep --untracked -oE "^func ${1:-Test}[A-Za-z0-9_]*" -- '*_test.go' |
		grep -vE "^(conformance/interop|${skip:-none})/" |
		awk -F: '{ folder = $1; if (!sub("/[^/]*$", "", folder)) folder = "."; sub("^func ", "", $2); print "./" folder, $2 }'
}

# The tests whose names match, for example "Racing|TestBind": "./folder TestName".
tests_like() { functions | grep -E " ($1)" || fail "no test matches $1"; }

# Calls a command for each package of such a list, with the package and a -run for its tests.
each_package() {
	local package list=$1
	for package in $(cut -d' ' -f1 <<<"$list" | sort -u); do
		"$2" "$package" "^($(awk -v p="$package" '$1 == p { print $2 }' <<<"$list" | paste -sd'|'))\$"
	done
}

# Sets binary to the test binary of a package, which is linked once for all checks that run a part of its tests; where the
# check of all tests has linked it, .ci/keep has kept it.
test_binary() {
	binary=$work/$(tr -c '[:alnum:]\n' _ <<<"$1").test
	[ -e "$binary" ] || run go test -c -vet=off -ldflags='-s -w' -o "$binary" "$1" || fail "$1 does not build"
}

# Runs tests of a package with a number of seeds or inputs.
try_seeds() {
	local binary out
	test_binary "$1"
	say "STORAGESIM_SEEDS=$STORAGESIM_SEEDS go test -run '$2' $1"
	out=$(cd "$1" && "$binary" -test.v -test.timeout 20m -test.run "$2" 2>&1) || { printf '%s\n' "$out"; fail "seeds"; }
	grep -o 'tried .*' <<<"$out" || true
	[ "$(grep -c 'tried [0-9]' <<<"$out")" -ge "$(tr '|' '\n' <<<"$2" | wc -l)" ] || { printf '%s\n' "$out"; fail "$1: a test did not say how many seeds it tried"; }
}

lint_tool() { (cd internal/lint && go build -ldflags='-s -w' -o "$work/lint" .); }

# The race detector needs a C compiler.
with_compiler() {
	command -v "$(go env CC)" >/dev/null && return
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		run apt-get update -q
		run apt-get install -y -q gcc libc6-dev
	fi
	command -v "$(go env CC)" >/dev/null || { lacking "race: the detector needs a C compiler, and there is no $(go env CC)"; return 1; }
}

# The page is tested in Debian's chromium; node and npm check its types. A missing one fails.
with_browser() {
	local tool missing=()
	for tool in node npm chromium; do
		command -v "$tool" >/dev/null || missing+=("${tool/#node/nodejs}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		run apt-get update -q
		run apt-get install -y -q "${missing[@]}"
	fi
	for tool in node npm chromium; do
		command -v "$tool" >/dev/null || fail "the page's tests need $tool; only STORAGESIM_NO_BROWSER=1 leaves them out"
	done
}

# The tests of live/serve work with kubectl. A machine that has none, or one older than 1.32,
# gets one from the module conformance/interop, built once and kept outside of the clone.
with_kubectl() {
	local bin minor=0
	minor=$(kubectl version --client -o yaml 2>/dev/null | sed -n 's/^ *minor: "\{0,1\}\([0-9]*\).*/\1/p') || true
	[ "${minor:-0}" -lt 32 ] || return 0
	bin=${XDG_CACHE_HOME:-$HOME/.cache}/storagesim/kubectl-v1.37.2-$(go env GOVERSION)
	[ -x "$bin" ] || (cd conformance/interop && run timeout 15m go build -o "$bin" -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2" ./kubectl) ||
		{ lacking "the tests that need kubectl, which cannot be built"; return 0; }
	export KUBECTL=$bin
}

# Sets processor to the time of a core that this shell's children have used, in seconds. `times` says nothing in a subshell, which has none.
processor=0
read_processor() {
	times >"$work/times"
	processor=$(awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); printf "%d", (u[1] + s[1]) * 60 + u[2] + s[2] }' "$work/times")
}

times=
table() { printf '\n%b%14s %5ss\n' "$times" total "$SECONDS"; rm -rf "$work"; }

# Runs the checks that are named, or all, and prints how long each took, and how much of the processors' time.
main() {
	local check begin line used
	trap table EXIT
	[ $# -eq 0 ] || checks=("$@")
	for check in "${checks[@]}"; do
		declare -F "check_$check" >/dev/null || fail "no check named $check"
	done
	run go version
	for check in "${checks[@]}"; do
		printf '\n== %s\n' "$check"
		begin=$SECONDS
		used=$processor
		"check_$check"
		read_processor
		line=$(printf '%14s %5ss, %5ss of a core' "$check" $((SECONDS - begin)) $((processor - used)))
		printf '   %s\n' "$line"
		times+="$line\n"
	done
	trap - EXIT
	table
	printf 'all checks passed: %s\n' "${checks[*]}"
	[ -z "$not_run" ] || printf 'NOT RUN: %s\n' "$not_run"
}
