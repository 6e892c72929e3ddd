# calls.awk: makes lines "round mpi binding variant function ns" into a table. What a variant adds
# is the median of the differences inside one round. jobeff may add 5 ns more than the floor in a
# call that moves nothing, and 10 in others; a section 60 ns in all.
{
	key = $2 SUBSEP $3 SUBSEP $5
	ns[key, $4, $1] = $6
	if (!(key in seen)) { seen[key] = 1; order[++rows] = key }
	if ($1 > rounds) rounds = $1
}
function of(key, variant,   r, n) {
	for (r = 1; r <= rounds; r++) if ((key, variant, r) in ns) v[++n] = ns[key, variant, r]
	return median(v, n)
}
function differences(key, variant, over,   r, n) {
	n = 0
	for (r = 1; r <= rounds; r++)
		if ((key, variant, r) in ns && (key, over, r) in ns)
			v[++n] = ns[key, variant, r] - ns[key, over, r]
	return n
}
function added(key, variant, over,   n) {
	n = differences(key, variant, over)
	interval(v, n)
	return median(v, n)
}
END {
	printf "%-8s %-8s %-11s %8s %8s %8s %15s %16s %6s\n", "MPI", "binding", "function", "call", "floor", "jobeff", "jobeff - floor", "90 % interval", "bound"
	for (i = 1; i <= rows; i++) {
		split(order[i], k, SUBSEP)
		section = k[3] == "Pcontrol"
		bound = section ? 60 : k[3] ~ /^(Iprobe|Test|Barrier)$/ ? 5 : 10
		floor = added(order[i], "stub", "none")
		jobeff = added(order[i], "jobeff", "none")
		more = section ? jobeff : added(order[i], "jobeff", "stub")
		printf "%-8s %-8s %-11s %8.1f %8.1f %8.1f %15.1f %16s %6d  %s\n", k[1], k[2], k[3], of(order[i], "none"), floor, jobeff, added(order[i], "jobeff", "stub"), sprintf("[%.1f, %.1f]", low, high), bound, (section ? verdict_of(order[i], bound) : verdict(bound))
	}
}
function verdict_of(key, bound) {
	added(key, "jobeff", "none")
	return verdict(bound)
}
