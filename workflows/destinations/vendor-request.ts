import type { OutgoingResponse } from '../outgoing/outgoing.ts'
import type { SendScope, Settings } from './destination.ts'
import { type OptionalFact, withoutEmpty } from './event-facts.ts'

type Call = { url: string; headers?: Record<string, string> }

/** An address at the vendor, or at the operator's own `base_url` (another region, a proxy). */
export function vendorUrl(settings: Settings, vendor: string, path: string, query: Record<string, OptionalFact> = {}): string {
  const base = (textSetting(settings, 'base_url') || vendor).replace(/\/+$/, '')
  const search = formOf(query)
  return `${base}${path}${search && `?${search}`}`
}

export const postJson = (scope: SendScope, call: Call, body: unknown): Promise<OutgoingResponse> =>
  postBody(scope, call, 'application/json', JSON.stringify(body))

export const postForm = (scope: SendScope, call: Call, fields: Record<string, OptionalFact>): Promise<OutgoingResponse> =>
  postBody(scope, call, 'application/x-www-form-urlencoded', formOf(fields))

export const postBody = (
  { outgoing, signal }: SendScope,
  { url, headers }: Call,
  contentType: string,
  body: string,
): Promise<OutgoingResponse> =>
  outgoing.request({
    method: 'POST',
    url,
    headers: { accept: 'application/json', 'user-agent': 'Perennial/1', 'content-type': contentType, ...headers },
    body,
    signal,
  })

/** Fields without a value are left out. */
const formOf = (fields: Record<string, OptionalFact>) =>
  new URLSearchParams(Object.entries(withoutEmpty(fields)).map(([name, value]): [string, string] => [name, String(value)])).toString()

export const basicAuth = (user: string, password = '') => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** A setting as text; "" when it is not set. */
export const textSetting = (settings: Settings, name: string): string => (typeof settings[name] === 'string' ? settings[name] : '')
