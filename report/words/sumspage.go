package words

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// SumsPage is the data for OfSums: the hours of jobs by month, user, account or program.
type SumsPage struct {
	Of      string // the kind of a row: "user"
	Counted string // the kind of what it counts: "job", or "run" for programs
	Heading string
	Span    string
	Query   listing.JobQuery // selects the rows, and their page
	Rows    []listing.NamedHours
	Monthly bool // rows cover whole months
	Link    func(name string) string
}

// Selected returns the rows of the page, in its order. The query selects rows by a part of their name, n in all, and sum
// covers these.
func (p *SumsPage) Selected() (rows []listing.NamedHours, sum listing.Hours, n int) {
	rows = slices.DeleteFunc(slices.Clone(p.Rows), func(r listing.NamedHours) bool {
		return !strings.Contains(strings.ToLower(r.Name), strings.ToLower(p.Query.Name))
	})
	sortHours(rows, p.Query.Sort)
	for _, r := range rows {
		sum.Add(r.Hours)
	}
	from := min(p.Query.Offset, len(rows))
	return rows[from:min(from+p.Query.Limit, len(rows))], sum, len(rows)
}

// OfSums makes a page of sums.
func OfSums(p *SumsPage) *ListPage {
	rows, sum, n := p.Selected()
	l := &ListPage{Heading: p.Heading, Span: p.Span + ", " + OrderWords(p.Query.Sort) + ".", Fold: p.Query == unasked(p.Query),
		Notes: []string{figure.Counted(n, p.Of) + ". " + sumText(figure.Counted(sum.Jobs, p.Counted), sum)},
		Empty: "There is nothing in this time."}
	l.Fields = []block.Field{{Name: "name", Label: "Name has", Value: p.Query.Name, Kind: "search"}}
	since := block.Field{Name: "start", Label: "Since", Value: p.Query.Start.Format(time.DateOnly), Kind: "date"}
	if p.Monthly {
		since.Label = "Since the month of"
		l.Fields = append(l.Fields, block.Field{Name: "account", Label: "Accounts", Value: p.Query.Account, Kind: "text"}, block.Field{Name: "partition", Label: "Partitions", Value: p.Query.Partition, Kind: "text"})
	}
	l.Fields = append(l.Fields, since, sortField(p.Query.Sort, sumOrders))
	l.Table = sumsTable(p, rows)
	return l.asked(p.Query, len(rows), p.Query.Offset+len(rows) < n)
}

// sortHours sorts by a field; by name if it does not know the field.
func sortHours(rows []listing.NamedHours, by string) {
	name, least := strings.CutPrefix(by, "-")
	key := map[string]func(listing.NamedHours) float64{"lost": func(r listing.NamedHours) float64 { return r.Lost }, "corehours": func(r listing.NamedHours) float64 { return r.Used },
		"jobs": func(r listing.NamedHours) float64 { return float64(r.Jobs) }}[name]
	slices.SortStableFunc(rows, func(a, b listing.NamedHours) int {
		order := 0
		if key != nil {
			order = cmp.Compare(key(b), key(a))
		} else {
			order = strings.Compare(b.Name, a.Name)
		}
		if least {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.Name, b.Name))
	})
}

func sumsTable(p *SumsPage, rows []listing.NamedHours) ListTable {
	heads, note, gpus := "", "", slices.ContainsFunc(rows, func(r listing.NamedHours) bool { return r.GPU > 0 })
	if gpus {
		heads, note = "|GPU-hours|Known|Idle", " GPU-hours are GPUs × time. Known: those of GPUs of which it is known what they did; Idle: of these, those in which no kernel ran, at least."
	}
	t := siteTable(p.Heading, "<"+upperFirst(p.Of)+"|"+upperFirst(p.Counted)+"s|Measured|Core-hours|Judged|Lost|Lost of judged"+heads, nil,
		"Core-hours are allocated cores × time. Judged: those of which it is known whether they were lost; Lost: of these, those in which their cores did no computing for them."+note)
	t.Names, t.Share = []string{"name", "jobs", "", "corehours", "", "lost", ""}, 6
	for i, r := range rows {
		t.Rows = append(t.Rows, []string{cmp.Or(inert.Text(r.Name, true), "(none)"), figure.Count(r.Jobs), figure.Count(r.Measured), figure.Hours(r.Used), figure.Hours(r.Judged), figure.Hours(r.Lost), figure.Part(r.Lost, r.Judged)})
		if gpus {
			t.Rows[i] = append(t.Rows[i], figure.Hours(r.GPU), figure.Hours(r.GPUKnown), figure.Hours(r.GPUIdle))
		}
		var share *float64
		if r.Judged > 0 {
			share = some(r.Lost / r.Judged)
		}
		if t.Shares = append(t.Shares, share); r.Name != "" && p.Link != nil {
			t.refer(i, 0, Ref{Address: p.Link(r.Name)})
		}
	}
	return t
}
