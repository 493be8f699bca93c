import { createOperator } from '../../domain/operators/accounts.ts'
import { hashPassword } from '../../domain/operators/password.ts'
import { transaction } from '../../store/transaction.ts'
import type { TestApi } from './api.ts'

export const PASSWORD = 'plum orbit seven lanterns'

let made = 0

/** An operator with a password. */
export async function newOperator(
  api: Pick<TestApi, 'pool'>,
  { isOwner = false, password = PASSWORD, email = `operator${++made}@example.org` } = {},
) {
  const passwordHash = await hashPassword(password)
  const id = await transaction(api.pool, tx => createOperator(tx, { email, name: 'Ada', isOwner, passwordHash }))
  return { id, email, password }
}

export type Seen = { status: number; headers: Headers; text: string; location: string | null; setCookies: string[] }

/** A browser without script: keeps cookies, and sends a form with the token of the page that it has opened last. */
export function visitor(url: string, always: Record<string, string> = {}) {
  const cookies = new Map<string, string>()
  let token = ''
  const see = async (path: string, init: RequestInit): Promise<Seen> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { Accept: 'text/html', ...always, ...(cookie && { Cookie: cookie }), ...(init.headers as Record<string, string>) }
    const answer = await fetch(url + path, { ...init, headers, redirect: 'manual' })
    const setCookies = answer.headers.getSetCookie()
    for (const line of setCookies) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/Max-Age=0/.test(line)) cookies.delete(name!)
      else cookies.set(name!, value!)
    }
    const text = await answer.text()
    token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? token
    return { status: answer.status, headers: answer.headers, text, location: answer.headers.get('location'), setCookies }
  }
  const open = (path: string, headers: Record<string, string> = {}) => see(path, { headers })
  const send = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    see(path, { method: 'POST', body: new URLSearchParams({ form_token: token, ...fields }), headers })
  /** The same for a form in which a field stands more than once. */
  const sendAll = (path: string, fields: [string, string][], headers: Record<string, string> = {}) =>
    see(path, { method: 'POST', body: new URLSearchParams([['form_token', token], ...fields]), headers })
  return {
    cookies,
    open,
    send,
    sendAll,
    /** Opens the page and sends the form. */
    async signIn(email: string, password = PASSWORD, fields: Record<string, string> = {}) {
      await open('/sign-in')
      return send('/sign-in', { email, password, ...fields })
    },
  }
}

export type Visitor = ReturnType<typeof visitor>
