import type { MailServer } from './smtp.ts'

/**
 * `smtp://host:587` (STARTTLS where the server offers it; with a login or with `?requireTLS=true` nothing is sent without it) or `smtps://…`
 * (TLS from the first byte on). A login without TLS shows the password to everybody on the way.
 */
export function smtpServer(url: string): MailServer {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url)
  const secure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTls: !secure && (username !== '' || searchParams.get('requireTLS') === 'true'),
    login: username ? { user: decoded(username), pass: decoded(password) } : null,
  }
}

/** A text with a lone `%` is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
