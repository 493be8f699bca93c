import type { Answer } from '../outgoing/request.ts'
import type { SendScope, Settings } from './destination.ts'
import { known, type Maybe } from './facts.ts'

type Call = { url: string; headers?: Record<string, string> }

/** The vendor's address, or the operator's own in front of it (`base_url`: another region, a proxy). */
export function vendorUrl(settings: Settings, vendor: string, path: string, query: Record<string, Maybe> = {}): string {
  const base = (text(settings, 'base_url') || vendor).replace(/\/+$/, '')
  const search = formOf(query)
  return `${base}${path}${search && `?${search}`}`
}

export const postJson = (scope: SendScope, call: Call, body: unknown): Promise<Answer> =>
  post(scope, call, 'application/json', JSON.stringify(body))

export const postForm = (scope: SendScope, call: Call, fields: Record<string, Maybe>): Promise<Answer> =>
  post(scope, call, 'application/x-www-form-urlencoded', formOf(fields))

export const post = ({ outgoing, signal }: SendScope, { url, headers }: Call, contentType: string, body: string): Promise<Answer> =>
  outgoing.request({
    method: 'POST',
    url,
    headers: { accept: 'application/json', 'user-agent': 'Perennial/1', 'content-type': contentType, ...headers },
    body,
    signal,
  })

/** Fields without a value are left out. */
const formOf = (fields: Record<string, Maybe>) =>
  new URLSearchParams(Object.entries(known(fields)).map(([name, value]): [string, string] => [name, String(value)])).toString()

export const basicAuth = (user: string, password = '') => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** A setting as text; "" when it is not set. */
export const text = (settings: Settings, name: string): string => (typeof settings[name] === 'string' ? settings[name] : '')
