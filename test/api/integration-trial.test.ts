// The test of the integrations that receive report files or send for automations, against real servers of their kind.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type CloudStorage, cloudStorage } from '../harness/cloud-storage.ts'
import { type MailHost, mailHost } from '../harness/mail.ts'
import { S3_KEYS, type S3Host, s3Host } from '../harness/report-bucket.ts'

let api: TestApi
let mail: MailHost
let s3: S3Host
let cloud: CloudStorage
beforeAll(async () => {
  const login = { user: 'shop', pass: 'secret' }
  ;[api, mail, s3, cloud] = await Promise.all([startApi(), mailHost({ login }), s3Host(), cloudStorage()])
})
afterAll(() => Promise.all([api.stop(), mail.close(), s3.close(), cloud.vendor.close()]))

async function made(integration: string, settings: object): Promise<string> {
  const body = { title: integration, integration, target_platform: 'iOS' }
  const { id } = (await api.call('POST', '/v4/integrations', { body })).body
  expect((await api.call('PUT', `/v4/integrations/${id}/config`, { body: { settings } })).status).toBe(200)
  return id
}
const tried = async (id: string) => (await api.call('POST', `/v4/integrations/${id}/test`)).body
const activate = (id: string) => api.call('POST', `/v4/integrations/${id}/status`, { body: { status: 1 } })

const email = (password: string) => ({
  ...{ host: '127.0.0.1', port: mail.port, from: 'reports@shop.example', secure: false },
  ...{ username: 'shop', password, recipients: ['ann@example.com'] },
})
const amazon = (bucket: string) => ({ ...S3_KEYS, bucket, prefix: 'x/', endpoint: s3.endpoint })
const google = (bucket: string) => ({ bucket, service_account_key: cloud.account.json(), base_url: cloud.vendor.url })

describe.each([
  ['email', () => email('secret'), null, () => email('wrong'), null],
  ['amazon_s3', () => amazon('reports'), 200, () => amazon('elsewhere'), 404],
  ['google_cloud_storage', () => google('reports'), 204, () => google('elsewhere'), 404],
])('an integration of %s', (slug, good, status, bad, refused) => {
  test('is tested with a real request, and can be activated', async () => {
    const id = await made(slug, good())
    expect(await tried(id)).toMatchObject({ object: 'integration_test', ok: true, http_status: status, error: null })
    expect((await activate(id)).body.active).toBe(1)
  })

  test('that does not work reports the reason', async () => {
    expect(await tried(await made(slug, bad()))).toMatchObject({ ok: false, http_status: refused, error: expect.any(String) })
  })
})

test('the test messages have arrived, and the test objects are deleted', async () => {
  const id = await made('email', email('secret'))
  const before = mail.received.length
  await tried(id)
  expect(mail.received.slice(before).map(({ to, mail: { subject } }) => [to, subject])).toEqual([[['ann@example.com'], 'Connection test']])
  expect(await s3.get('x/connection-test.txt')).toBeNull()
  expect([...cloud.objects.keys()]).toEqual([])
})
