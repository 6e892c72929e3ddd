# calls.awk: makes lines "round mpi binding variant function ns" into a table. What a variant takes
# is the quickest tenth of its rounds: other work only adds. The 90 % interval is a bootstrap over the
# rounds. jobeff may add 5 ns more than the floor in a call that moves nothing, and 10 in others; a
# section 60 ns in all. With -v over=base: 0.5 ns more than that library in each.
{
	key = $2 SUBSEP $3 SUBSEP $5
	ns[key, $4, $1] = $6
	if (!(key in seen)) { seen[key] = 1; order[++rows] = key }
	if ($1 > rounds) rounds = $1
}
# The tenth of the values of a variant in the rounds drawn[1..n] that is quickest.
function quick(key, variant, n,   tenth, i, j, least, v) {
	tenth = 1 + int((n - 1) / 10)
	for (i = 1; i <= n; i++) {
		v = ns[key, variant, drawn[i]]
		if (i > tenth && v >= least[tenth]) continue
		for (j = (i < tenth ? i : tenth); j > 1 && least[j - 1] > v; j--) least[j] = least[j - 1]
		least[j] = v
	}
	return least[tenth]
}
# Draws all rounds in which both variants were measured; returns how many.
function measured(key, variant, over,   r, n) {
	n = 0
	for (r = 1; r <= rounds; r++) if ((key, variant, r) in ns && (key, over, r) in ns) drawn[++n] = r
	return n
}
function added(key, variant, over,   n) {
	if ((n = measured(key, variant, over)) == 0) return "nan"
	return quick(key, variant, n) - quick(key, over, n)
}
# Sets low and high to the interval of what a variant adds.
function spread(key, variant, over,   n, k, i, j, all, more, t) {
	srand(1)
	n = measured(key, variant, over)
	for (i = 1; i <= n; i++) all[i] = drawn[i]
	for (k = 1; k <= 1000; k++) {
		for (i = 1; i <= n; i++) drawn[i] = all[1 + int(rand() * n)]
		t = quick(key, variant, n) - quick(key, over, n)
		for (j = k - 1; j >= 1 && more[j] > t; j--) more[j + 1] = more[j]
		more[j + 1] = t
	}
	low = more[50]
	high = more[950]
}
END {
	if (over == "") over = "stub"
	printf "%-8s %-8s %-11s %8s %8s %8s %15s %16s %6s\n", "MPI", "binding", "function", "call", over == "stub" ? "floor" : over, "jobeff", "difference", "90 % interval", "bound"
	for (i = 1; i <= rows; i++) {
		key = order[i]
		split(key, k, SUBSEP)
		section = k[3] == "Pcontrol"
		bound = over == "base" ? 0.5 : section ? 60 : k[3] ~ /^(Iprobe|Test|Barrier)$/ ? 5 : 10
		spread(key, "jobeff", section && over == "stub" ? "none" : over)
		says = verdict(bound)
		said[says]++
		n = measured(key, "jobeff", over)
		printf "%-8s %-8s %-11s %8.1f %8.1f %8.1f %15.1f %16s %6s  %s\n", k[1], k[2], k[3], quick(key, "none", n), added(key, over, "none"), added(key, "jobeff", "none"), added(key, "jobeff", over), sprintf("[%.1f, %.1f]", low, high), bound, says
	}
	printf "%d of %d rows met, %d not shown, %d not met\n", said["met"], rows, said["not shown"], said["NOT MET"]
}
