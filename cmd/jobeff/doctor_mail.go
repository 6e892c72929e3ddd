package main

import (
	"jobeff/report"
	"jobeff/report/mail"
)

// mails warns where the configuration asks for mails that would never be sent. It says
// nothing where none are asked for. Only jobeffd's log tells whether a mail arrived.
func (d *doctor) mails() {
	m, asked := &d.cfg.Mail, len(d.cfg.Digest.To)+len(d.cfg.Digest.Accounts) > 0
	switch {
	case !m.Sends() && asked:
		d.say(report.Warn, "mail", "[digest] names people, but [mail] has neither host nor sendmail: no mail is ever sent", "set mail.host, or mail.sendmail")
	case !m.Sends():
	case d.cfg.Notice.Enabled && d.cfg.Notice.Shadow && len(d.cfg.Digest.To) == 0:
		d.say(report.Warn, "mail", "notice.shadow is true and digest.to is empty: the notices to users go to nobody", "set digest.to; notice.shadow = false once you trust what they say")
	default:
		if _, err := mail.Load(m.Templates); err != nil {
			d.say(report.Fail, "mail", err.Error(), "correct the template, or remove it: jobeffd does not start")
			return
		}
		d.say(report.OK, "mail", "can be sent; jobeffd's log says what was", "")
	}
}
