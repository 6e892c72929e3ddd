# bench-sum.awk: makes bench-sum.sh's raw numbers into the table. -v from=7955bd9 heads BASE's column,
# -v parts="calls start" chooses rows.
# A figure is what a variant adds to the variant "none", where there is one.
$3 == "why" { why = $4; for (i = 5; i <= NF; i++) why = why " " $i; reasons[$2] = why; next }
{
	value[$2, $3, $1] = $4
	if ($2 ~ "^(openmpi|mpich)/" && !($2 in seen)) { seen[$2] = 1; calls[++many] = $2 }
	if (!(($2, $3) in least) || $4 < least[$2, $3]) least[$2, $3] = $4
	if ($1 > rounds) rounds = $1
}
function of(figure, variant, r) {
	return value[figure, variant, r] - value[figure, "none", r]
}
# Sets base_, now_ and the interval of the paired difference; returns how many pairs there are.
function compare(figure,   r, n, was, is, more) {
	for (r = 1; r <= rounds; r++) {
		if (!((figure, "base", r) in value && (figure, "now", r) in value)) continue
		was[++n] = of(figure, "base", r)
		is[n] = of(figure, "now", r)
		more[n] = is[n] - was[n]
	}
	if (n == 0) return 0
	base_ = median(was, n)
	now_ = median(is, n)
	more_ = median(more, n)
	interval(more, n)
	return n
}
function row(part, what, figure, decimals,   n, number) {
	if (!index(" " parts " ", " " part " ")) return
	n = compare(figure)
	if (n == 0) {
		printf "%-36s not measured: %.120s\n", what, part in reasons ? reasons[part] : "no figures of both"
		return
	}
	number = "%9." decimals "f"
	printf "%-36s " number " " number, what, base_, now_
	if (base_ <= 0) printf "  (BASE is not above 0)\n"
	else if (n < 5) printf "   %.3f\n", 1 + more_ / base_
	else printf "   %.3f [%.3f, %.3f]\n", 1 + more_ / base_, 1 + low / base_, 1 + high / base_
}
# The median call of each round is a figure of its own. The dearest call is that of the quickest
# rounds: other work must not choose it.
function rows_of(mpi, name,   i, r, n, k, v, most, more, dearest, variants) {
	variants[1] = "base"; variants[2] = "now"
	for (k = 1; k <= 2; k++)
		for (r = 1; r <= rounds; r++) {
			n = 0
			for (i = 1; i <= many; i++)
				if (index(calls[i], mpi "/") == 1 && calls[i] !~ /Pcontrol/ && (calls[i], variants[k], r) in value)
					v[++n] = of(calls[i], variants[k], r)
			if (n > 0) value[mpi "-median", variants[k], r] = median(v, n)
		}
	for (i = 1; i <= many; i++) {
		if (index(calls[i], mpi "/") != 1 || (n = compare(calls[i])) == 0) continue
		if (n >= 5 && low > 0.5) dearer[++grown] = sprintf("%s %+.1f ns [%.1f, %.1f]", calls[i], more_, low, high)
		more = least[calls[i], "now"] - least[calls[i], "none"]
		if (calls[i] !~ /Pcontrol/ && (dearest == "" || more > most)) { most = more; dearest = calls[i] }
	}
	row("calls", "ns per MPI call, " name ": median", mpi "-median", 1)
	if (dearest != "") row("calls", "  dearest: " substr(dearest, length(mpi) + 2), dearest, 1)
}
END {
	printf "%-36s %9s %9s   ratio [90 %% interval]\n", "", from, "now"
	rows_of("openmpi", "Open MPI")
	rows_of("mpich", "MPICH")
	row("start", "KiB per rank, Open MPI", "openmpi-KiB", 0)
	row("start", "KiB per rank, MPICH", "mpich-KiB", 0)
	row("start", "  KiB touched of its record", "mpich-touched-KiB", 0)
	row("start", "ms more in MPI_Init, Open MPI", "openmpi-init", 2)
	row("start", "ms more in MPI_Init, MPICH", "mpich-init", 2)
	row("plugin", "ms of CPU time of a prolog", "prolog-ms", 2)
	row("plugin", "ms of CPU time of an epilog", "epilog-ms", 2)
	row("plugin", "ms more of both for a measured job", "record-cpu-ms", 2)
	row("server", "reports per second", "reports/s", 0)
	row("server", "us of jobeffd's CPU time per report", "daemon-cpu-us/report", 0)
	row("munge", "reports per second, TCP with munge", "munge-reports/s", 0)
	row("munge", "  us of jobeffd's CPU time", "munge-daemon-cpu-us/report", 0)
	row("munge", "  us of all CPU time, munged's too", "munge-cpu", 0)
	row("database", "bytes per job in the database", "bytes", 0)
	row("sizes", "KiB of libjobeff.so", "library", 0)
	row("sizes", "lines of Go", "go", 0)
	row("sizes", "lines of C", "c", 0)
	if (many > 0 && rounds >= 5) printf "Calls dearer by more than 0.5 ns, whole interval: %d of %d\n", grown, many
	for (i = 1; i <= grown && i <= 5; i++) print "  " dearer[i]
}
