import { domainToASCII } from 'node:url'
import type { Transporter } from 'nodemailer'
import { failureOf } from './failure.ts'
import type { Guard } from './guard.ts'
import { guardedSocket } from './guarded-socket.ts'
import { keptText } from './kept.ts'

const LIMIT_MS = 30_000

export type MailServer = {
  host: string
  port: number
  /** TLS from the first byte on; without, STARTTLS where the server offers it. */
  secure: boolean
  /** What is not encrypted is not sent. */
  requireTls: boolean
  login: { user: string; pass: string } | null
}

/** `from` may carry a name; `to` are bare addresses. `only`: those of them who are to get it; everybody unless given. */
export type Mail = { from: string; to: string[]; only?: string[]; subject: string; text: string; messageId: string }

/**
 * `accepted`: at least one recipient has it (`by`, of `to`); `refused` are the others. `rejected`: the server said no for good (5xx), `atLogin` to our
 * name and password. `failed`: a repeat may help; `error` is a word as in `Answer`, or the server's 4xx reply. Whether a mail that failed
 * arrived nobody knows; it carries the same Message-ID when it comes again.
 */
export type Mailed =
  | { is: 'accepted'; by: string[]; refused: { address: string; code: number; reply: string }[] }
  | { is: 'rejected'; code: number; error: string; atLogin: boolean }
  | { is: 'failed'; code: number | null; error: string }

type SmtpError = Error & { code?: string; originalCode?: string; responseCode?: number; response?: string; permanent?: boolean }
type Refused = { recipient?: string; responseCode?: number; response?: string }
/** `ca`: whose certificates are good, in place of the system's. `limitMs`: for everything together, 30 s unless given. */
type Options = { guard: Guard; signal: AbortSignal; ca?: string; limitMs?: number }

/** Line breaks would begin another header. */
const oneLine = (text: string) => text.replaceAll(/[\r\n\0]+/g, ' ')

function failed(error: SmtpError, isOvertime: boolean): Mailed {
  if (isOvertime) return { is: 'failed', code: null, error: 'timeout' }
  // Also when the server refuses STARTTLS (5xx): that says nothing about the mail.
  if (error.code === 'ETLS') return { is: 'failed', code: null, error: 'tls_failed' }
  const { responseCode: code, response = '' } = error
  if (code && code >= 500) return { is: 'rejected', code, error: keptText(response), atLogin: error.code === 'EAUTH' }
  if (code) return { is: 'failed', code, error: keptText(response) }
  const word = failureOf({ code: error.originalCode ?? error.code, message: error.message, name: error.name })
  return { is: 'failed', code: null, error: word }
}

/** Opens a connection of its own. Throws only the signal's reason: nothing is known about the attempt then. */
async function withServer(
  { host, port, secure, requireTls, login }: MailServer,
  { guard, signal, ca, limitMs = LIMIT_MS }: Options,
  work: (transport: Transporter) => Promise<Mailed>,
): Promise<Mailed> {
  const limit = AbortSignal.timeout(limitMs)
  const ended = AbortSignal.any([signal, limit])
  try {
    // Loaded by whoever has a mail to send.
    const { createTransport } = await import('nodemailer')
    const connection = await guardedSocket(host, port, guard, ended)
    try {
      const times = { connectionTimeout: limitMs, greetingTimeout: limitMs, socketTimeout: limitMs, socketCloseTimeout: 1000 }
      const more = { ...(login && { auth: login }), ...(ca && { tls: { ca } }) }
      return await work(createTransport({ host, port, secure, requireTLS: requireTls, connection, ...more, ...times }))
    } finally {
      // After a polite QUIT, if any: the server may never close its side.
      setTimeout(() => connection.destroy(), 1000).unref()
    }
  } catch (error) {
    signal.throwIfAborted()
    return failed(error as SmtpError, limit.aborted)
  }
}

/** An address as it goes over the wire, or is read from there. */
const wired = (address: string): string => {
  const [, mailbox, host] = /^(.*)@([^@]*)$/.exec(address) ?? [null, address, '']
  return `${mailbox}@${domainToASCII(host!)}`.toLowerCase()
}

/** Sends one mail to all at once. */
export const sendMail = (server: MailServer, { from, to, only, subject, text, messageId }: Mail, options: Options): Promise<Mailed> =>
  withServer(server, options, async transport => {
    const bare = (addresses: string[]) => addresses.map(address => ({ name: '', address: oneLine(address) }))
    const info = await transport.sendMail({
      from: oneLine(from),
      to: bare(to),
      subject: oneLine(subject),
      text,
      messageId: oneLine(messageId),
      // The mail itself is the same whoever is still to get it.
      ...(only && { envelope: { from: oneLine(from), to: bare(only) } }),
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    const refused = ((info.rejectedErrors ?? []) as Refused[]).map(({ recipient = '', responseCode = 0, response = '' }) => ({
      address: recipient,
      code: responseCode,
      reply: keptText(response),
    }))
    const accepted = new Set((info.accepted as unknown[]).map(address => wired(String(address))))
    return { is: 'accepted', by: (only ?? to).filter(address => accepted.has(wired(address))), refused }
  })

/** Connects and logs in, no more. */
export const tryLogin = (server: MailServer, options: Options): Promise<Mailed> =>
  withServer(server, options, async transport => {
    await transport.verify()
    return { is: 'accepted', by: [], refused: [] }
  })
