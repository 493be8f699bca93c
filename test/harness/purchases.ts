import type { TestApi } from './api.ts'
import type { Answer } from './client.ts'

export async function userOf(api: TestApi, key = api.project.secret): Promise<string> {
  const environment = key.startsWith('test_') ? 'sandbox' : 'prod'
  return (await api.call('POST', '/v4/users', { key, body: { environment } })).body.id
}

/** Creates a product, by default a monthly subscription. */
export async function product(api: TestApi, given: Record<string, unknown>, key = api.project.secret): Promise<void> {
  const body = { type: 'subscription', duration: 'P1M', ...given }
  const { status, text } = await api.call('POST', '/v4/products', { key, body })
  if (status !== 201) throw new Error(text)
}

export const purchaseOf = (api: TestApi, user: string, given: Record<string, unknown>, key = api.project.secret): Promise<Answer> =>
  api.call('POST', `/v4/users/${user}/purchases`, { key, body: { currency: 'USD', price: '9.99', ...given } })
