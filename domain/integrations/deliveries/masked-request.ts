import { FORMER_SIGNING_SECRET } from '../config.ts'
import type { MadeRequest } from '../probe.ts'
import { providerOf } from '../providers.ts'

const MASK = '…'

/** Headers with a credential, a signature or the time of one: each attempt makes them anew. */
const MASKED_HEADER = /auth|key|token|secret|pass|cookie|sign|timestamp/

const BODY_CHARACTERS = 8_192
const ADDRESS_CHARACTERS = 4_096

const formOf = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)

/** The texts under which a secret may stand in a request: as it is, in JSON, each of them in CSV, in an address or a form; in base64. */
function formsOf(secret: string): string[] {
  const forms = [secret, JSON.stringify(secret).slice(1, -1)].flatMap(text => [
    text,
    text.replaceAll('"', '""'),
    encodeURIComponent(text),
    encodeURI(text),
    formOf(text),
  ])
  return [...forms, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('base64url')]
}

/** The longest first: a secret may begin with another one. */
function secretForms(slug: string, settings: Record<string, unknown>): string[] {
  const names = [
    FORMER_SIGNING_SECRET,
    ...providerOf(slug)
      .settings.filter(({ secret }) => secret)
      .map(({ name }) => name),
  ]
  const secrets = names.flatMap(name => settings[name] ?? []).filter(value => typeof value === 'string' && value !== '')
  return [...new Set((secrets as string[]).flatMap(formsOf))].sort((a, b) => b.length - a.length)
}

export type MaskedRequest = {
  method: MadeRequest['method']
  address: string
  headers: Record<string, string>
  body: string | null
  body_length: number
}

/** The request as it may be shown: the provider's secrets, signatures and the time of signing are `…`. `settings`: opened. */
export function maskedRequest(request: MadeRequest, slug: string, settings: Record<string, unknown>): MaskedRequest {
  const forms = secretForms(slug, settings)
  const masked = (text: string) => forms.reduce((rest, form) => rest.replaceAll(form, MASK), text)
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => {
    const lower = name.toLowerCase()
    return [lower, MASKED_HEADER.test(lower) ? MASK : masked(value)]
  })
  const body = masked(request.body)
  return {
    method: request.method,
    address: masked(request.url).slice(0, ADDRESS_CHARACTERS),
    headers: Object.fromEntries(headers),
    body: body === '' ? null : body.slice(0, BODY_CHARACTERS).toWellFormed(),
    body_length: body.length,
  }
}
