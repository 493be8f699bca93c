import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'vitest'
import type { TestApi, TestProjectKeys } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'
import { product } from '../harness/purchases.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Answer, v3Client } from '../harness/v3.ts'

/** A request of v3 with everything that it needs; its bodies are complete, so that a repeat means the same. */
export type V3Request = { id: string; method: string; path: string; body?: unknown; isSecret?: boolean }
type Answered = (request: V3Request, key?: string) => Promise<V3Answer>

export type Shop = { keys: TestProjectKeys; user: string; requests: V3Request[]; send: Answered }

/** All resources of which v3 knows, and a user, in the sandbox of a project: one of its own, unless another is given. */
export async function shopOf(api: TestApi, given?: TestProjectKeys): Promise<Shop> {
  const keys = given ?? (await api.newProject())
  const v3 = v3Client(api)
  const make = growth(api, keys.sandbox)
  const must = async (method: string, path: string, body: unknown) => {
    const answer = await api.call(method, path, { key: keys.sandbox, body })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const [monthly, sold, premium, extra] = ['monthly', 'm', 'premium', 'extra'].map(unique) as [string, string, string, string]
  await product(api, { id: monthly, apple_product_id: sold }, keys.sandbox)
  for (const id of [premium, extra]) await must('POST', '/v4/entitlements', { id, product_ids: id === premium ? [monthly] : [] })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const iap_private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const config = await make.configuration({ n: 1 }, { context_key: 'home' })
  const { id: experiment, groups } = await make.running({ context_key: 'test', alias_id: unique('alias') }, [
    { remote_config_uid: config },
    {},
  ])
  const { id: screen } = await must('POST', '/v4/screens', { name: 'Offer' })
  await must('POST', `/v4/screens/${screen}/publish`, undefined)
  await api.pool.query(`update screens set context_key = 'offer' where id = $1`, [screen])
  const [user, made] = [unique('QON_'), unique('QON_')]
  const send: Answered = ({ method, path, body, isSecret }, key = isSecret ? keys.sandbox : `test_${keys.projectKey}`) =>
    v3(method, path, { key, ...(body !== undefined && { body }) })
  await api.call('POST', '/v4/project-settings/stores/apple', {
    key: keys.secret,
    body: { bundle_id: 'com.example', iap_key_identifier: 'K', iap_issuer_id: 'I', iap_private_key },
  })
  // It signs offers; that the store cannot be asked leaves purchases to the word of the app.
  await api.pool.query('update store_configs set enabled = false where project = $1', [keys.id])
  expect((await send({ id: '', method: 'POST', path: `/v3/users/${user}`, body: {} })).status).toBe(201)
  const requests: V3Request[] = [
    { id: 'v3CreateUser', method: 'POST', path: `/v3/users/${made}`, body: { environment: 'sandbox' } },
    { id: 'v3GetUser', method: 'GET', path: `/v3/users/${user}` },
    { id: 'v3CreateUserProperties', method: 'POST', path: `/v3/users/${user}/properties`, body: [{ key: 'plan', value: 'free' }] },
    { id: 'v3ListUserProperties', method: 'GET', path: `/v3/users/${user}/properties` },
    { id: 'v3CreateIdentity', method: 'POST', path: `/v3/identities/${user}-ada`, body: { user_id: user } },
    { id: 'v3GetIdentity', method: 'GET', path: `/v3/identities/${user}-ada` },
    {
      id: 'v3GrantUserEntitlement',
      method: 'POST',
      path: `/v3/users/${user}/entitlements`,
      body: { id: extra, expires: 4_102_444_800 },
      isSecret: true,
    },
    {
      id: 'v3CreatePurchase',
      method: 'POST',
      path: `/v3/users/${user}/purchases`,
      body: { price: '9.99', currency: 'USD', purchased: 1_772_355_600, app_store_data: { transaction_id: unique('t'), product_id: sold } },
    },
    { id: 'v3ListUserEntitlements', method: 'GET', path: `/v3/users/${user}/entitlements` },
    { id: 'v3ListContextScreens', method: 'GET', path: '/v3/contexts/offer/screens' },
    { id: 'v3GetScreen', method: 'GET', path: `/v3/screens/${screen}` },
    { id: 'v3ListScreens', method: 'GET', path: '/v3/screens?preload=true' },
    {
      id: 'v3CreateScreenEvents',
      method: 'POST',
      path: `/v3/users/${user}/screen-events`,
      body: {
        events: [
          { type: 'screen_shown', screen_uid: screen },
          { type: 'tap', happened_at: 1_772_355_600 },
        ],
      },
    },
    { id: 'v3ListActionPoints', method: 'GET', path: `/v3/users/${user}/action-points?active=0` },
    { id: 'v3GetRemoteConfig', method: 'GET', path: `/v3/remote-config?user_id=${user}&context_key=test` },
    { id: 'v3ListRemoteConfigs', method: 'GET', path: `/v3/remote-configs?user_id=${user}&all_context_keys=true` },
    { id: 'v3AttachUserToRemoteConfiguration', method: 'POST', path: `/v3/remote-configurations/${config}/users/${user}` },
    { id: 'v3DetachUserFromRemoteConfiguration', method: 'DELETE', path: `/v3/remote-configurations/${config}/users/${user}` },
    { id: 'v3AttachUserToExperiment', method: 'POST', path: `/v3/experiments/${experiment}/users/${user}`, body: { group_id: groups[1] } },
    { id: 'v3DetachUserFromExperiment', method: 'DELETE', path: `/v3/experiments/${experiment}/users/${user}` },
    {
      id: 'v3CreateOfferSignature',
      method: 'POST',
      path: `/v3/users/${user}/offers/spring/signatures`,
      body: { product: sold, app_bundle_id: 'com.example' },
    },
    { id: 'v3CreateEvents', method: 'POST', path: `/v3/users/${user}/events`, body: { events: [{ event_id: 'e', event_name: 'opened' }] } },
    { id: 'v3RevokeUserEntitlement', method: 'DELETE', path: `/v3/users/${user}/entitlements/${extra}`, isSecret: true },
  ]
  return { keys, user, requests, send }
}
