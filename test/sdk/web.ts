// Requests as the web SDK builds them (plain concatenation, `fetch`), and how it reads answers.
import { expect } from 'vitest'

export type WebOptions = { url: string; key: string; sandbox?: boolean }
export type WebPurchase = { price: string; currency: string; purchased?: number; subscriptionId: string; productId: string }
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any

/** What the SDK throws: its own code for a missing user or identity, else the status and the message of the service. */
class WebSdkError extends Error {}

const headersOf = (key: string) => ({
  Authorization: `Bearer ${key}`,
  Platform: 'web',
  'Platform-Version': '1.2.0',
  'User-Id': '',
  'Content-Type': 'application/json',
  Accept: 'application/json',
})

/** The SDK parses every answer before it looks at the status. */
export async function sendWeb(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: Json }> {
  const answer = await fetch(encodeURI(url + path), { method, headers: headersOf(key), ...(body && { body: JSON.stringify(body) }) })
  return { status: answer.status, body: await answer.json() }
}

function camelCased(value: Json): Json {
  if (Array.isArray(value)) return value.map(camelCased)
  if (typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value as object).map(([name, field]) => [
      name.replace(/[-_][a-zA-Z]/g, part => part[1]!.toUpperCase()),
      camelCased(field),
    ]),
  )
}

/** What the SDK asks the service for. `sandbox` puts the prefix before the key, and is the environment of new users. */
export function webSdk({ url, key, sandbox = false }: WebOptions) {
  const send = async (method: string, path: string, { body, missing }: { body?: object; missing?: string } = {}): Promise<Json> => {
    const answer = await sendWeb(url, sandbox ? `test_${key}` : key, method, path, body)
    if (answer.status >= 200 && answer.status < 300) return answer.body
    if (answer.status === 404 && missing) throw new WebSdkError(missing)
    throw new WebSdkError(`${answer.status}: ${answer.body.error.message}`)
  }
  return {
    createUser: async (id: string) =>
      camelCased(await send('POST', `/v3/users/${id}`, { body: { environment: sandbox ? 'sandbox' : 'prod' } })),
    user: async (id: string) => camelCased(await send('GET', `/v3/users/${id}`, { missing: 'UserNotFound' })),
    createIdentity: async (user_id: string, identity: string): Promise<string> =>
      (await send('POST', `/v3/identities/${identity}`, { body: { user_id } })).user_id,
    identity: async (identity: string): Promise<string> =>
      (await send('GET', `/v3/identities/${identity}`, { missing: 'IdentityNotFound' })).user_id,
    entitlements: async (user: string) =>
      camelCased((await send('GET', `/v3/users/${user}/entitlements`, { missing: 'UserNotFound' })).data),
    purchase: async (user: string, { price, currency, purchased, subscriptionId, productId }: WebPurchase) => {
      const body = { price, currency, stripe_store_data: { subscription_id: subscriptionId, product_id: productId }, purchased }
      return camelCased(await send('POST', `/v3/users/${user}/purchases`, { body }))
    },
  }
}

export const fails = (work: Promise<unknown>, message: string) => expect(work).rejects.toEqual(new WebSdkError(message))
