// Package notice decides who is told what, and when. It sends nothing and knows no clock. Before it
// comes policy, which judges jobs. After it report/mail writes the letters and cmd/jobeffd/notify
// sends them.
//
//   - Notices picks the flagged jobs that their owners are told of, and says why not the others
//   - SentOf, Muted and AllClear keep the log of what was told
//   - Weekly and Quiet say when
//   - Mail is what was decided, until it is sent
//   - NewDigest sums up a week for those who run the cluster
//   - Backtest counts what rules would have flagged, and how many mails they would have made
package notice
