# calls.awk: makes lines "round mpi variant function ns" into a table of medians. "adds" is the
# median of the differences inside one round.
{
	ns[$2, $4, $3, $1] = $5
	if (!(($2, $4) in seen)) { seen[$2, $4] = 1; order[++rows] = $2 SUBSEP $4 }
	if ($1 > rounds) rounds = $1
}
function of(key, variant,   r, v, n) {
	for (r = 1; r <= rounds; r++) if ((key, variant, r) in ns) v[++n] = ns[key, variant, r]
	return median(v, n)
}
function added(key, variant, over,   r, v, n) {
	for (r = 1; r <= rounds; r++)
		if ((key, variant, r) in ns && (key, over, r) in ns)
			v[++n] = ns[key, variant, r] - ns[key, over, r]
	return median(v, n)
}
END {
	printf "%-8s %-10s %9s %9s %9s %9s %12s %14s\n", "MPI", "function", "none", "empty", "stub", "jobeff", "stub adds", "jobeff - stub"
	for (i = 1; i <= rows; i++) {
		split(order[i], k, SUBSEP)
		printf "%-8s %-10s %9.1f %9.1f %9.1f %9.1f %12.1f %14.1f\n", k[1], k[2], of(order[i], "none"), of(order[i], "empty"), of(order[i], "stub"), of(order[i], "jobeff"), added(order[i], "stub", "empty"), added(order[i], "jobeff", "stub")
	}
}
