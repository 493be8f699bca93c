import { randomBytes } from 'node:crypto'
import type { TestApi } from '../harness/api.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape; the server validates them against the description
export type SdkReply = { status: number; headers: Headers; text: string; body: any }
export type SdkSent = { headers: Record<string, string>; body?: unknown; raw?: string }
export type SdkClient = (method: string, path: string, sent: SdkSent) => Promise<SdkReply>

/** Sends headers and body as they are. Every answer must be JSON. */
export const sdkClient =
  ({ url }: TestApi): SdkClient =>
  async (method, path, { headers, body, raw = body === undefined ? undefined : JSON.stringify(body) }) => {
    const answer = await fetch(url + path, { method, headers, ...(raw !== undefined && { body: raw }) })
    const text = await answer.text()
    if (answer.headers.get('content-type') !== 'application/json; charset=utf-8') throw new Error(`no JSON: ${answer.status} ${text}`)
    return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) }
  }

/** An id as the SDKs make it. */
export const newUid = (): string => `QON_${randomBytes(16).toString('hex')}`
