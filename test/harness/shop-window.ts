import type { TestApi } from './api.ts'
import { recordPurchase } from './catalogue.ts'
import { growth } from './experiments.ts'

const PRODUCTS = [
  { id: 'plus_monthly', type: 'subscription', duration: 'P1M', apple_product_id: 'com.northwind.notes.plus.monthly' },
  { id: 'plus_annual', type: 'subscription', duration: 'P1Y', apple_product_id: 'com.northwind.notes.plus.annual' },
  {
    ...{ id: 'pro_monthly', type: 'subscription_with_promo', duration: 'P1M', apple_product_id: 'com.northwind.notes.pro.monthly' },
    ...{ google_product_id: 'pro', google_base_plan_id: 'monthly', stripe_product_id: 'prod_Q1w2e3r4t5y6u7' },
  },
  {
    ...{ id: 'pro_annual', type: 'subscription', duration: 'P1Y', apple_product_id: 'com.northwind.notes.pro.annual' },
    ...{ google_product_id: 'pro', google_base_plan_id: 'annual' },
  },
  { id: 'pro_quarter', type: 'subscription', duration: 'P3M', paddle_product_id: 'pro_01hv8x29nsh54c2pgt0hnq0zkx' },
  { id: 'themes', type: 'lifetime', apple_product_id: 'com.northwind.notes.themes', google_product_id: 'themes' },
  { id: 'stickers', type: 'consumable' },
]

/** What an app sells: products with links, offerings, entitlements, what names them, and two products of stores that nothing links. */
export async function shopWindow(api: TestApi, key = api.project.secret) {
  const make = growth(api, key)
  const post = async (path: string, body: object) => {
    const answer = await make.call('POST', `/v4/${path}`, body)
    if (answer.status !== 201) throw new Error(answer.text)
    return answer.body
  }
  for (const product of PRODUCTS) await post('products', product)
  await post('entitlements', { id: 'plus', description: 'Sync and search', product_ids: ['plus_monthly', 'plus_annual'] })
  await post('entitlements', {
    ...{ id: 'pro', description: 'All of Plus, and shared notebooks' },
    product_ids: ['pro_monthly', 'pro_annual', 'pro_quarter'],
  })
  await post('entitlements', { id: 'themes', product_ids: ['themes'] })
  await post('offerings', { id: 'default', product_ids: ['pro_annual', 'pro_monthly', 'plus_annual', 'plus_monthly'] })
  await post('offerings', { id: 'spring: sale', product_ids: ['pro_annual'] })
  const prices = await make.running({ name: 'Annual first' }, [{ name: 'As it is' }, { name: 'Annual first', offering_uid: 'default' }])
  const screen = (await post('screens', { name: 'Paywall of spring' })).id
  await api.pool.query(`update screens set used = '{pro_annual,pro_monthly}' where id = $1`, [screen])
  const automation = await post('automations', {
    ...{ name: 'Win back', status: 'active' },
    data: {
      initiators: [{ uid: 'subscription_expired', type: 'event' }],
      steps: [{ id: 'give_a_week', type: 'grant_entitlement', entitlement_id: 'pro', duration: 'P7D' }],
    },
  })
  await post('segments', { name: 'Without Pro', conditions: [{ metric: 'entitlement:pro', comparator: 'eq', value: 'false' }] })
  for (const user of ['ada', 'bob', 'cy'])
    await recordPurchase(api, { product: 'com.northwind.notes.pro.annual', user: `QON_${user}`, until: 300 })
  for (const user of ['dee', 'eve'])
    await recordPurchase(api, { product: 'com.northwind.notes.lite', user: `QON_${user}`, isUnmapped: true })
  await recordPurchase(api, { platform: 'play_store', product: 'pro', basePlan: 'weekly', isUnmapped: true })
  return { experiment: prices.id, screen, automation: automation.id as string }
}
