"""A mail server that wants STARTTLS, and a login where a password is given:
login.py PORT BOX CERTIFICATE KEY [PASSWORD]. Debian 12's OpenSMTPD cannot use its own
keys with OpenSSL 3 ("rsa routines::missing private key")."""
import signal
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Mailbox
from aiosmtpd.smtp import AuthResult, LoginPassword

port, box, cert, key = sys.argv[1:5]
password = sys.argv[5] if len(sys.argv) > 5 else None
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)


def login(server, session, envelope, mechanism, data):
    right = isinstance(data, LoginPassword) and data == LoginPassword(b"jobeff", (password or "").encode())
    return AuthResult(success=right, handled=False)


server = Controller(Mailbox(box), hostname="127.0.0.1", port=int(port), tls_context=context, require_starttls=True,
                    authenticator=login, auth_required=password is not None)
server.start()
signal.pause()
