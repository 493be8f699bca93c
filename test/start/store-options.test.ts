import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { CERTIFICATE } from '../harness/certificate.ts'

const DER = new X509Certificate(CERTIFICATE).raw
let folder = ''
const files = { pem: '', der: '', both: '', other: '' }
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perennial-roots-'))
  for (const name of Object.keys(files) as (keyof typeof files)[]) files[name] = join(folder, name)
  await writeFile(files.pem, CERTIFICATE)
  await writeFile(files.der, DER)
  await writeFile(files.both, `${CERTIFICATE}\n${CERTIFICATE}`)
  await writeFile(files.other, 'no certificate')
})
afterAll(() => rm(folder, { recursive: true }))

test('without settings the stores have their own addresses and root, and no certificate is asked for online', () => {
  expect(readConfig({}).stores).toEqual({
    appleRoots: undefined,
    appleOnlineChecks: false,
    urls: {
      apple: 'https://api.storekit.apple.com',
      appleSandbox: 'https://api.storekit-sandbox.apple.com',
      adServices: 'https://api-adservices.apple.com',
      appleAds: 'https://api.searchads.apple.com',
      appleId: 'https://appleid.apple.com',
      google: 'https://androidpublisher.googleapis.com',
      googleCerts: 'https://www.googleapis.com/oauth2/v1/certs',
      stripe: 'https://api.stripe.com',
      paddle: 'https://api.paddle.com',
      paddleSandbox: 'https://sandbox-api.paddle.com',
    },
  })
})

test('root certificates are read from files in DER and PEM, one or more in each', () => {
  const { stores } = readConfig({ APPLE_ROOT_CERTIFICATES: `${files.der}, ${files.pem},${files.both}`, APPLE_ONLINE_CHECKS: 'true' })
  expect(stores.appleRoots?.map(root => root.equals(DER))).toEqual([true, true, true, true])
  expect(stores.appleOnlineChecks).toBe(true)
})

test('an address loses the slash at its end', () => {
  const { stores } = readConfig({ ALLOW_PRIVATE_NETWORK: 'true', PADDLE_API_URL: 'http://127.0.0.1:9/paddle/' })
  expect(stores.urls.paddle).toBe('http://127.0.0.1:9/paddle')
})

test.each<[Record<string, string>, RegExp]>([
  [{ STRIPE_API_URL: 'stripe.com' }, /^STRIPE_API_URL must be an address that begins with http:\/\/ or https:\/\/$/],
  [{ STRIPE_API_URL: 'http://stripe.test' }, /^STRIPE_API_URL must begin with https:\/\/ .*ALLOW_PRIVATE_NETWORK/],
  [{ GOOGLE_CERTS_URL: 'https://u:p@certs.test' }, /^GOOGLE_CERTS_URL must be an address without query, fragment and login$/],
  [{ APPLE_API_URL: 'https://apple.test/?x=1' }, /^APPLE_API_URL must be an address without/],
  [{ APPLE_ONLINE_CHECKS: 'yes' }, /^APPLE_ONLINE_CHECKS=yes: must be one of true, false$/],
  [{ APPLE_ROOT_CERTIFICATES: '/nowhere/root.cer' }, /^APPLE_ROOT_CERTIFICATES: \/nowhere\/root.cer cannot be read \(ENOENT\)$/],
])('%j is refused in one line', (env, line) => expect(() => readConfig(env)).toThrow(line))

test('a file that is no certificate is refused in one line', () => {
  const refused = /^APPLE_ROOT_CERTIFICATES: \S+other is no certificate in DER or PEM$/
  expect(() => readConfig({ APPLE_ROOT_CERTIFICATES: `${files.pem},${files.other}` })).toThrow(refused)
  expect(() => readConfig({ APPLE_ROOT_CERTIFICATES: `${files.pem},` })).toThrow('APPLE_ROOT_CERTIFICATES: names an empty path')
})
