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
function quick(key, variant, drawn, n,   sorted, i) {
	for (i = 1; i <= n; i++) insert(sorted, i, ns[key, variant, drawn[i]])
	return sorted[1 + int((n - 1) / 10)]
}
# Sets low and high to the interval of what jobeff adds to another variant in the rounds all[1..n].
function spread(key, over, all, n,   k, i, drawn, sorted) {
	srand(1)
	for (k = 1; k <= 1000; k++) {
		for (i = 1; i <= n; i++) drawn[i] = all[1 + int(rand() * n)]
		insert(sorted, k, quick(key, "jobeff", drawn, n) - quick(key, over, drawn, n))
	}
	low = sorted[50]
	high = sorted[950]
}
END {
	if (over == "") over = "stub"
	printf "%-8s %-8s %-11s %8s %8s %8s %15s %16s %6s\n", "MPI", "binding", "function", "call", over == "stub" ? "floor" : over, "jobeff", "difference", "90 % interval", "bound"
	for (i = 1; i <= rows; i++) {
		key = order[i]
		n = 0
		for (r = 1; r <= rounds; r++)
			if ((key, "none", r) in ns && (key, over, r) in ns && (key, "jobeff", r) in ns) all[++n] = r
		if (n == 0) continue
		split(key, k, SUBSEP)
		section = k[3] == "Pcontrol" && over == "stub"
		bound = over == "base" ? 0.5 : section ? 60 : k[3] ~ /^(Iprobe|Test|Barrier)$/ ? 5 : 10
		if (section) { spread(key, "none", all, n); says = verdict(bound) }
		spread(key, over, all, n)
		if (!section) says = verdict(bound)
		said[says]++
		none = quick(key, "none", all, n)
		floor = quick(key, over, all, n)
		jobeff = quick(key, "jobeff", all, n)
		printf "%-8s %-8s %-11s %8.1f %8.1f %8.1f %15.1f %16s %6s  %s\n", k[1], k[2], k[3], none, floor - none, jobeff - none, jobeff - floor, sprintf("[%.1f, %.1f]", low, high), bound, says
	}
	printf "%d of %d rows met, %d not shown, %d not met\n", said["met"], rows, said["not shown"], said["NOT MET"]
}
