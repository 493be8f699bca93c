import { domainToASCII } from 'node:url'
import type { Transporter } from 'nodemailer'
import { timeLimit } from '../../store/time-limit.ts'
import type { Guard } from './guard.ts'
import { guardedSocket } from './guard.ts'
import { excerpt, networkErrorCode } from './response.ts'

const LIMIT_MS = 30_000

export type MailServer = {
  host: string
  port: number
  /** TLS from the first byte on; otherwise STARTTLS where the server offers it. */
  secure: boolean
  /** Nothing is sent over an unencrypted connection. */
  requireTls: boolean
  login: { user: string; pass: string } | null
}

/** A picture within the page of a mail, which names it by its id. */
export type MailPicture = { cid: string; filename: string; contentType: string; content: Uint8Array }

/**
 * `from` may have a name; `to` are bare addresses. `only`: the recipients among `to` that receive the mail; all unless given. `html`: the same as the text, as
 * a page with pictures.
 */
export type Mail = {
  from: string
  to: string[]
  only?: string[]
  subject: string
  text: string
  html?: string | undefined
  pictures?: readonly MailPicture[] | undefined
  messageId: string
}

/**
 * `accepted`: the server has accepted the mail for at least one recipient (`by`); `refused` are the others. `rejected`: the server refuses
 * finally (5xx), `atLogin` because of user name and password. `failed`: a repeat may help; `error` is a code as in `OutgoingResponse`, or
 * the server's 4xx reply. A mail that failed may have arrived nevertheless, so a repeat has the same Message-ID.
 */
export type Mailed =
  | { is: 'accepted'; by: string[]; refused: { address: string; code: number; reply: string }[] }
  | { is: 'rejected'; code: number; error: string; atLogin: boolean }
  | { is: 'failed'; code: number | null; error: string }

type SmtpError = Error & { code?: string; originalCode?: string; responseCode?: number; response?: string; permanent?: boolean }
type Refused = { recipient?: string; responseCode?: number; response?: string }
/** `ca`: the trusted certificate authority, in place of the system's. `limitMs`: for the whole conversation, 30 s unless given. */
type Options = { guard: Guard; signal: AbortSignal; ca?: string; limitMs?: number }

/** Line breaks would begin another header. */
const oneLine = (text: string) => text.replaceAll(/[\r\n\0]+/g, ' ')

function failed(error: SmtpError, isOvertime: boolean): Mailed {
  if (isOvertime) return { is: 'failed', code: null, error: 'timeout' }
  // Includes a server that refuses STARTTLS (5xx): that says nothing about the mail.
  if (error.code === 'ETLS') return { is: 'failed', code: null, error: 'tls_failed' }
  const { responseCode: code, response = '' } = error
  if (code && code >= 500) return { is: 'rejected', code, error: excerpt(response), atLogin: error.code === 'EAUTH' }
  if (code) return { is: 'failed', code, error: excerpt(response) }
  return {
    is: 'failed',
    code: null,
    error: networkErrorCode({ code: error.originalCode ?? error.code, message: error.message, name: error.name }),
  }
}

/** Opens its own connection. Throws only the signal's reason: the result of the attempt is unknown then. */
async function withServer(
  { host, port, secure, requireTls, login }: MailServer,
  { guard, signal, ca, limitMs = LIMIT_MS }: Options,
  work: (transport: Transporter) => Promise<Mailed>,
): Promise<Mailed> {
  const limit = timeLimit(limitMs).signal
  const ended = AbortSignal.any([signal, limit])
  try {
    // Loaded with the first mail.
    const { createTransport } = await import('nodemailer')
    const connection = await guardedSocket(host, port, guard, ended)
    try {
      const times = { connectionTimeout: limitMs, greetingTimeout: limitMs, socketTimeout: limitMs, socketCloseTimeout: 1000 }
      const more = { ...(login && { auth: login }), ...(ca && { tls: { ca } }) }
      return await work(createTransport({ host, port, secure, requireTLS: requireTls, connection, ...more, ...times }))
    } finally {
      // Leaves time for QUIT: the server may never close its side.
      setTimeout(() => connection.destroy(), 1000).unref()
    }
  } catch (error) {
    signal.throwIfAborted()
    return failed(error as SmtpError, limit.aborted)
  }
}

/** An address in the form that SMTP transmits. */
const wired = (address: string): string => {
  const [, mailbox, host] = /^(.*)@([^@]*)$/.exec(address) ?? [null, address, '']
  return `${mailbox}@${domainToASCII(host!)}`.toLowerCase()
}

/** Sends one mail to all recipients at once. */
export const sendMail = (
  server: MailServer,
  { from, to, only, subject, text, html, pictures = [], messageId }: Mail,
  options: Options,
): Promise<Mailed> =>
  withServer(server, options, async transport => {
    const bare = (addresses: string[]) => addresses.map(address => ({ name: '', address: oneLine(address) }))
    const info = await transport.sendMail({
      from: oneLine(from),
      to: bare(to),
      subject: oneLine(subject),
      text,
      ...(html !== undefined && {
        html,
        attachments: pictures.map(({ content, ...picture }) => ({
          ...picture,
          content: Buffer.from(content),
          contentDisposition: 'inline' as const,
        })),
      }),
      messageId: oneLine(messageId),
      // The headers name all recipients; the envelope only those that receive this attempt.
      ...(only && { envelope: { from: oneLine(from), to: bare(only) } }),
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    const refused = ((info.rejectedErrors ?? []) as Refused[]).map(({ recipient = '', responseCode = 0, response = '' }) => ({
      address: recipient,
      code: responseCode,
      reply: excerpt(response),
    }))
    const accepted = new Set((info.accepted as unknown[]).map(address => wired(String(address))))
    return { is: 'accepted', by: (only ?? to).filter(address => accepted.has(wired(address))), refused }
  })

/** Connects and logs in, and sends nothing. */
export const tryLogin = (server: MailServer, options: Options): Promise<Mailed> =>
  withServer(server, options, async transport => {
    await transport.verify()
    return { is: 'accepted', by: [], refused: [] }
  })
