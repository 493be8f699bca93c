import type { Settings } from '../destinations/destination.ts'
import type { Guard } from './guard.ts'
import type { MailServer } from './smtp.ts'

/** The mail server and the sender address that an `email` integration names. */
export function mailIntegration(settings: Settings, { allowPrivateNetwork }: Guard): { server: MailServer; from: string } {
  const { host, port, from, secure = true, username, password } = settings
  return {
    server: {
      host: String(host),
      port: Number(port),
      secure: secure === true,
      // As with http, an unencrypted connection is allowed only within the operator's own network.
      requireTls: !allowPrivateNetwork,
      login: typeof username === 'string' && username !== '' ? { user: username, pass: String(password ?? '') } : null,
    },
    from: String(from),
  }
}
