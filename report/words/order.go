package words

import (
	"cmp"
	"strings"

	"jobeff/report/block"
)

// orders words the orders of lists, with the most first or the least.
var orders = map[string]struct{ most, least string }{
	"lost":      {"most core-hours lost first", "fewest core-hours lost first"},
	"corehours": {"most core-hours first", "fewest core-hours first"},
	"start":     {"newest first", "oldest first"},
	"elapsed":   {"longest first", "shortest first"},
	"alloccpus": {"most cores first", "fewest cores first"},
	"nnodes":    {"most nodes first", "fewest nodes first"},
	"ranks":     {"most ranks first", "fewest ranks first"},
	"pe":        {"most parallel efficiency first", "least parallel efficiency first"},
	"lb":        {"most load balance first", "least load balance first"},
	"comme":     {"most communication efficiency first", "least communication efficiency first"},
	"jobs":      {"most jobs first", "fewest jobs first"},
	"name":      {"by name, the last first", "by name"},
}

// The orders that the forms of pages offer.
const (
	jobOrders      = "lost corehours start elapsed alloccpus -pe -lb -comme"
	sumOrders      = "lost corehours jobs -name name"
	workloadOrders = "lost start"
)

// OrderWords says how a list is ordered by a field. With "-" before the field, the least comes first.
func OrderWords(by string) string {
	name, least := strings.CutPrefix(by, "-")
	if least {
		return cmp.Or(orders[name].least, "least "+name+" first")
	}
	return cmp.Or(orders[name].most, "most "+name+" first")
}

// sortField returns the field of a form that offers some orders, and the present one.
func sortField(by, offered string) block.Field {
	f := block.Field{Name: "sort", Label: "Order"}
	known := false
	for name := range strings.FieldsSeq(offered) {
		f.Choices = append(f.Choices, block.Choice{Value: name, Text: OrderWords(name), Chosen: name == by})
		known = known || name == by
	}
	if !known {
		f.Choices = append(f.Choices, block.Choice{Value: by, Text: OrderWords(by), Chosen: true})
	}
	return f
}
