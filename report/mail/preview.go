package mail

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"jobeff/policy/notice"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
	"jobeff/report/view"
)

// Preview shows the mail that each user would get now, and says what is held back and why.
func Preview(w io.Writer, t *Templates, mails []view.NoticeFor, held []notice.Held, site view.Site) error {
	var b strings.Builder
	of := map[string][]notice.Held{}
	for _, h := range held {
		name := previewName(h.Job.User, fmt.Sprint(h.Job.UID), h.Job.Cluster)
		of[name] = append(of[name], h)
	}
	for i := range mails {
		name := previewName(mails[i].User, "", mails[i].Cluster)
		fmt.Fprintf(&b, "%s: one mail now\n", name)
		if mails[i].Shadow {
			b.WriteString("  in shadow (notice.shadow): it would go to digest.to, not to the user\n")
		}
		previewMail(&b, &mails[i], site.Zone)
		letter, err := t.Notice(&mails[i], site)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "  | Subject: %s\n  |\n", letter.Subject)
		for line := range strings.Lines(letter.Text) {
			b.WriteString(strings.TrimRight("  | "+line, " \n") + "\n")
		}
		previewHeld(&b, of[name])
		delete(of, name)
	}
	for _, name := range sortedKeys(of) {
		fmt.Fprintf(&b, "%s: no mail now\n", name)
		previewHeld(&b, of[name])
	}
	if b.Len() == 0 {
		b.WriteString("no rule flagged a job of the last four weeks\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func previewName(user, uid, cluster string) string {
	return harmless(cmp.Or(user, uid)) + " on " + harmless(cluster)
}

func sortedKeys[V any](m map[string]V) (all []string) {
	for key := range m {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// previewMail writes what a mail is about.
func previewMail(b *strings.Builder, m *view.NoticeFor, zone *time.Location) {
	if n := m.Notice; n != nil {
		fmt.Fprintf(b, "  would surely save %s of the %s core-hours used since %s; %s\n", figure.Hours(n.Sure), figure.Hours(n.Used), n.Since.In(zone).Format("2 January"), n.Reason)
		for i := range n.Items {
			item := &n.Items[i]
			fmt.Fprintf(b, "  told: %s, %s by %s\n", harmless(item.Name), figure.Counted(item.Jobs, "job"), item.Verdicts[0].Rule)
			if item.Try != nil {
				fmt.Fprintf(b, "        %s\n", shell.Request(item.Try))
			}
		}
		if n.More > 0 {
			fmt.Fprintf(b, "  counted: %s\n", figure.Counted(n.More, "more workload"))
		}
	}
	for _, t := range m.Better {
		fmt.Fprintf(b, "  told: %s is better now\n", harmless(t.Name))
	}
}

// previewHeld writes what is held back. Jobs of one workload with the same reason share a line.
func previewHeld(b *strings.Builder, held []notice.Held) {
	type line struct{ name, rule, why string }
	jobs := map[line]int{}
	var lines []line
	for _, h := range held {
		l := line{cmp.Or(h.Name, h.Program, "no program known"), h.Rule, h.Reason}
		if jobs[l]++; jobs[l] == 1 {
			lines = append(lines, l)
		}
	}
	for _, l := range lines {
		fmt.Fprintf(b, "  held: %s, %s by %s: %s\n", harmless(l.name), figure.Counted(jobs[l], "job"), l.rule, harmless(l.why))
	}
}

func harmless(s string) string { return inert.Copy(s, true) }
