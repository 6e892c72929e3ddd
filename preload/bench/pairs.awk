# pairs.awk: makes lines "round group variant value" into one line per group: the medians of the
# variants, and the paired differences to the variant `over` with their 90 % interval.
#   -v over=stub -v unit=ns -v bound=20: met if the interval's upper end is at most the bound
#   -v share=0.05: the bound is at least this part of what `over` takes
{
	value[$2, $3, $1] = $4
	if (!($2 in seen)) { seen[$2] = 1; groups[++rows] = $2 }
	if (!($3 in variant)) { variant[$3] = 1; variants[++columns] = $3 }
	if ($1 > rounds) rounds = $1
}
function all_of(group, name,   r, n) {
	n = 0
	for (r = 1; r <= rounds; r++) if ((group, name, r) in value) v[++n] = value[group, name, r]
	return n
}
function differences(group, name,   r, n) {
	n = 0
	for (r = 1; r <= rounds; r++)
		if ((group, name, r) in value && (group, over, r) in value)
			v[++n] = value[group, name, r] - value[group, over, r]
	return n
}
END {
	for (i = 1; i <= rows; i++) {
		printf "%-22s", groups[i]
		for (j = 1; j <= columns; j++) {
			n = all_of(groups[i], variants[j])
			if (n > 0) printf " %s %.1f", variants[j], median(v, n)
		}
		n = differences(groups[i], "jobeff")
		interval(v, n)
		printf "  jobeff - %s: %.1f %s [%.1f, %.1f]", over, median(v, n), unit, low, high
		limit = bound
		if (share > 0) {
			n = all_of(groups[i], over)
			if (median(v, n) * share > limit) limit = int(median(v, n) * share * 10) / 10
		}
		if (bound != "") printf ", bound %s: %s", limit, verdict(limit)
		printf "\n"
	}
}
