import type { Tenant } from '../product.ts'
import { say, thousands } from '../report.ts'

const AT_ONCE = 16

/** What an app knows of its user. */
export type App = { user: string; identity: string }

const call = async (url: string, method: string, path: string, key: string, body?: unknown) => {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return JSON.parse(text === '' ? '{}' : text)
}

/** Users with properties, an identity, a subscription and a group of a running experiment, made as apps and servers make them. */
export async function seedApps(url: string, { secretKey, projectKey }: Tenant, count: number): Promise<App[]> {
  const set = (method: string, path: string, body: unknown) => call(url, method, path, secretKey, body)
  await set('POST', '/v4/products', { id: 'monthly', type: 'subscription', duration: 'P1M', apple_product_id: 'm' })
  await set('POST', '/v4/entitlements', { id: 'premium', product_ids: ['monthly'] })
  const configuration = await set('POST', '/v4/remote-configurations', { name: 'Home', context_key: 'home' })
  await set('PUT', `/v4/remote-configurations/${configuration.id}/payload`, { data: { title: 'Welcome', steps: [1, 2, 3], trial: true } })
  await set('PATCH', `/v4/remote-configurations/${configuration.id}/status`, { status: 'active' })
  const experiment = await set('POST', '/v4/experiments', { name: 'Home', alias_id: 'home', context_key: 'home' })
  for (const is_control of [true, false])
    await set('POST', `/v4/experiments/${experiment.id}/groups`, { weight: 1, is_control, remote_config_uid: configuration.id })
  await set('POST', `/v4/experiments/${experiment.id}/status`, { status: 'active' })
  const apps = Array.from({ length: count }, (_, n): App => ({ user: `QON_${String(n).padStart(32, '0')}`, identity: `person-${n}` }))
  const app = (method: string, path: string, body?: unknown) => call(url, method, path, projectKey, body)
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(
      apps.slice(from, from + AT_ONCE).map(async ({ user, identity }) => {
        await app('POST', `/v3/users/${user}`, {})
        await app('POST', `/v3/users/${user}/properties`, [
          { key: '_q_email', value: `${identity}@example.com` },
          { key: 'plan', value: 'free' },
          { key: 'level', value: '12' },
        ])
        await app('POST', `/v3/identities/${identity}`, { user_id: user })
        const bought = { price: '9.99', currency: 'EUR', app_store_data: { transaction_id: `t-${user}`, product_id: 'm' } }
        await call(url, 'POST', `/v3/users/${user}/purchases`, secretKey, bought)
        await app('GET', `/v3/remote-config?user_id=${user}&context_key=home`)
      }),
    )
  say(`${thousands(count)} users stand`)
  return apps
}
