import getRawBody from 'raw-body'
import type { Context } from '../context.ts'

const MOST_BYTES = 32 * 1024

/** Answered in the shape of OAuth, and not in that of v4: RFC 6749, section 5.2. */
export class OAuthProblem extends Error {
  readonly error: string
  readonly status: number
  readonly headers: Record<string, string>
  constructor(
    error: string,
    description: string,
    { status = 400, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
  ) {
    super(description)
    this.error = error
    this.status = status
    this.headers = headers
  }
}

/** These addresses use no cookie, so every page may read what they answer. */
export function allowPages(ctx: Context, methods: string): void {
  ctx.set('Access-Control-Allow-Origin', '*')
  if (ctx.method !== 'OPTIONS') return
  ctx.set({
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
    'Access-Control-Max-Age': '86400',
  })
  ctx.status = 204
}

export function answerJson(ctx: Context, body: object, status = 200, cache = 'no-store'): void {
  ctx.status = status
  ctx.set({ 'Cache-Control': cache, 'X-Content-Type-Options': 'nosniff' })
  ctx.type = 'application/json'
  ctx.body = JSON.stringify(body)
}

export function answerProblem(ctx: Context, { error, message, status, headers }: OAuthProblem): void {
  ctx.set(headers)
  answerJson(ctx, { error, error_description: message }, status)
}

async function bodyOf(ctx: Context, type: RegExp, name: string, error: string): Promise<string> {
  if (!type.test(ctx.get('Content-Type'))) throw new OAuthProblem(error, `the body must be ${name}`)
  const bytes = await getRawBody(ctx.req, { limit: MOST_BYTES }).catch(() => {
    throw new OAuthProblem(error, 'the body is too large, or did not arrive whole')
  })
  return bytes.toString('utf8')
}

/** A field is given once at most; an empty one is none: RFC 6749, section 3.2. */
export type OAuthFields = { get(name: string): string | undefined; need(name: string): string }

export function fieldsOf(fields: URLSearchParams): OAuthFields {
  const get = (name: string) => {
    const [value, ...others] = fields.getAll(name)
    if (others.length > 0) throw new OAuthProblem('invalid_request', `${name} is given twice`)
    // Postgres stores no NUL.
    if (value?.includes('\0')) throw new OAuthProblem('invalid_request', `${name} has a character that is not allowed`)
    return value || undefined
  }
  const need = (name: string) => {
    const value = get(name)
    if (value === undefined) throw new OAuthProblem('invalid_request', `${name} is missing`)
    return value
  }
  return { get, need }
}

export const readFields = async (ctx: Context): Promise<OAuthFields> =>
  fieldsOf(
    new URLSearchParams(
      await bodyOf(ctx, /^application\/x-www-form-urlencoded\s*(;|$)/i, 'application/x-www-form-urlencoded', 'invalid_request'),
    ),
  )

export async function readJson(ctx: Context): Promise<Record<string, unknown>> {
  const text = await bodyOf(ctx, /^application\/json\s*(;|$)/i, 'application/json', 'invalid_client_metadata')
  const value = parsed(text)
  if (value === null) throw new OAuthProblem('invalid_client_metadata', 'the body must be an object in JSON')
  return value
}

/** An object in JSON; null for anything else. */
export function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
