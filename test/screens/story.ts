// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
export type Call = (method: string, path: string, body?: unknown) => Promise<any>

/** What one person did in the last days, at these times. */
const LATELY = [
  ['2026-11-25T08:12:40Z', 'paywall_shown'],
  ['2026-11-25T17:31:05Z', 'note_created'],
  ['2026-11-26T18:39:18Z', 'note_shared'],
  ['2026-11-27T07:45:52Z', 'search_used'],
  ['2026-11-27T13:20:11Z', 'note_created'],
] as const

const DEVICE = { country: 'DE', locale: 'de_DE', model: 'iPhone17,2', os_version: '19.1' }
const APP = { name: 'Northwind Notes', version: '5.2.0' }

/** A customer with a trial, eight paid months, one of them partly refunded. `tell`: records what happened until then. */
export async function storyOf(call: Call) {
  const { id: user } = await call('POST', '/v4/users', { environment: 'prod', created_at: '2026-03-13T18:20:00Z' })
  await call('POST', '/v4/identities', { user_id: user, identity_id: 'nw-4711' })
  await call('POST', `/v4/users/${user}/properties`, {
    properties: Object.entries({ _q_name: 'Sam Example', _q_email: 'sam@example.org', plan_goal: 'thesis' }).map(([key, value]) => ({
      key,
      value,
    })),
  })
  const buy = async (n: number, price: string, from: string, to: string) =>
    (
      await call('POST', `/v4/users/${user}/purchases`, {
        ...{ price, currency: 'EUR', country: 'DE', purchased_at: from, expires_at: to, trigger: false },
        app_store_data: { transaction_id: `200000471${n}`, original_transaction_id: '2000004710', product_id: 'notes.pro.monthly' },
      })
    ).id
  await buy(0, '0', '2026-03-14T18:30:00Z', '2026-03-21T18:30:00Z')
  for (let n = 1; n <= 9; n++) {
    const month = (of: number) => `2026-${String(of).padStart(2, '0')}-21T18:30:00Z`
    const purchase = await buy(n, '9.19', month(n + 2), month(n + 3))
    if (n === 4)
      await call('PATCH', `/v4/users/${user}/purchases/${purchase}`, { refunded_at: '2026-06-24T09:15:00Z', refunded_amount: '4.00' })
  }
  let told = 0
  return {
    user: user as string,
    times: LATELY.map(([at]) => Date.parse(at)),
    async tell(until: number) {
      for (; told < LATELY.length && Date.parse(LATELY[told]![0]) <= until; told++) {
        const [happened_at, event_name] = LATELY[told]!
        const event = { event_id: `sam-${told}`, event_name, customer_uid: user, happened_at, platform: 'iOS', device: DEVICE, app: APP }
        await call('POST', '/v4/events', { events: [event] })
        if (event_name === 'search_used')
          await call('POST', `/v4/users/${user}/entitlements`, {
            entitlement_id: 'labs',
            expires_at: Math.floor(until / 1000) + 60 * 86_400,
          })
      }
    },
  }
}
