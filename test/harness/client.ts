export type Answer = {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape; the server validates them against the description
  body: any
  text: string
}
export type RequestOptions = { key?: string | null; body?: unknown; raw?: string | Uint8Array; headers?: Record<string, string> }
export type Client = (method: string, path: string, options?: RequestOptions) => Promise<Answer>

/** Events of tests happen at fixed times, which are history by now, and act all the same unless the test says `trigger`. */
const triggering = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'events' in body && !('trigger' in body) ? { ...body, trigger: 'always' } : body

/** Calls the API at `url`. `key: null` sends no Authorization header; `raw` sends the body unchanged. */
export function client(url: string, key: string): Client {
  return async (method, path, options = {}) => {
    const token = options.key === undefined ? key : options.key
    const given = method === 'POST' && path === '/v4/events' ? triggering(options.body) : options.body
    const body = options.raw ?? (given === undefined ? undefined : JSON.stringify(given))
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token !== null && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...options.headers,
      },
      ...(body !== undefined && { body: body as string }),
      redirect: 'manual',
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : undefined, text }
  }
}
