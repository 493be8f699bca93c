// Requests as client SDKs send them: the path as it stands, and the bytes of the answer.
import { request } from 'node:http'
import type { TestApi } from './api.ts'
import { unique } from './resource-makers.ts'

export type V3Answer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape; the server validates them against the description
  body: any
}
export type V3Options = { key?: string | null; body?: unknown; raw?: string | Uint8Array; headers?: Record<string, string> }
export type V3Client = (method: string, path: string, options?: V3Options) => Promise<V3Answer>

/** With the Project Key, unless another is given. Every answer but that of `OPTIONS` and `HEAD` must be JSON without null, for every origin. */
export const v3Client =
  (api: TestApi): V3Client =>
  (method, path, { key = api.project.projectKey, body, raw, headers = {} } = {}) =>
    new Promise((resolve, reject) => {
      const bytes = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const sent = {
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(bytes !== undefined && { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(bytes)) }),
        ...headers,
      }
      const { hostname, port } = new URL(api.url)
      const requested = request({ hostname, port, method, path, headers: sent }, answer => {
        const chunks: Buffer[] = []
        answer.on('data', chunk => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          try {
            const isEmpty = method === 'OPTIONS' || method === 'HEAD'
            const status = answer.statusCode!
            resolve({ status, headers: answer.headers, text, body: isEmpty ? undefined : checked(answer.headers, text) })
          } catch (error) {
            reject(error)
          }
        })
      })
      requested.on('error', reject)
      requested.end(bytes)
    })

function checked(headers: V3Answer['headers'], text: string): unknown {
  if (headers['content-type'] !== 'application/json; charset=utf-8') throw new Error(`Content-Type is ${headers['content-type']}: ${text}`)
  if (headers['access-control-allow-origin'] !== '*') throw new Error(`not for every origin: ${text}`)
  const body = JSON.parse(text)
  refuseNull(body, text)
  return body
}

/** A payload is the caller's own document. */
function refuseNull(value: unknown, text: string): void {
  if (value === null) throw new Error(`there is null: ${text}`)
  if (typeof value === 'object') for (const [name, field] of Object.entries(value)) if (name !== 'payload') refuseNull(field, text)
}

/** A new user as an app makes it; its id. */
export async function v3User(call: V3Client, environment: 'prod' | 'sandbox', options: V3Options = {}): Promise<string> {
  const id = unique('QON_')
  const answer = await call('POST', `/v3/users/${id}`, { ...options, body: { environment } })
  if (answer.status !== 201) throw new Error(answer.text)
  return id
}

/** The error as the service at `url` answers it. */
export const v3Error = (api: TestApi, type: string, code: string, message: string, fields?: object[]) => ({
  error: { type, code, message },
  _meta: { reference: `${api.url}/docs/errors#${code}`, ...(fields && { fields }) },
})
