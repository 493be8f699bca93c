import type { Settings } from '../destinations/destination.ts'
import type { Guard } from './guard.ts'
import type { MailServer } from './smtp.ts'

/** The server that an `email` integration names, and who its mails are from. */
export function mailIntegration(settings: Settings, { allowPrivateNetwork }: Guard): { server: MailServer; from: string } {
  const { host, port, from, secure = true, username, password } = settings
  return {
    server: {
      host: String(host),
      port: Number(port),
      secure: secure === true,
      // As for http: what is not encrypted is for the operator's own network only.
      requireTls: !allowPrivateNetwork,
      login: typeof username === 'string' && username !== '' ? { user: username, pass: String(password ?? '') } : null,
    },
    from: String(from),
  }
}
