import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { REDIRECT, register } from '../harness/oauth.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

test('the documents name the addresses, under each of their names and for pages of all origins', async () => {
  const read = async (name: string) => {
    const answer = await fetch(`${api.url}/.well-known/${name}`)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    return answer.json()
  }
  const resource = await read('oauth-protected-resource')
  expect(resource).toMatchObject({ resource: `${api.url}/mcp`, authorization_servers: [api.url] })
  expect(await read('oauth-protected-resource/mcp')).toEqual(resource)
  const issuer = await read('oauth-authorization-server')
  expect(issuer).toMatchObject({
    issuer: api.url,
    registration_endpoint: `${api.url}/oauth/register`,
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: true,
  })
  expect(await read('openid-configuration')).toEqual(issuer)
  const asked = await fetch(`${api.url}/oauth/token`, { method: 'OPTIONS' })
  expect([asked.status, asked.headers.get('access-control-allow-methods')]).toEqual([204, 'POST'])
  expect((await fetch(`${api.url}/oauth/authorize`)).headers.get('access-control-allow-origin')).toBeNull()
})

test('ten registrations an hour: good ones have an id and no secret, bad ones the error of OAuth', async () => {
  const { status, body } = await register(api.url, {
    client_name: 'Assistant',
    redirect_uris: [
      REDIRECT,
      'https://example.org/cb',
      'http://[::1]/cb',
      'com.example.app:/cb',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ],
    grant_types: ['authorization_code', 'refresh_token', 'urn:other'],
    scope: 'events:read',
  })
  expect(status).toBe(201)
  expect(body).toMatchObject({ client_id: expect.stringMatching(/^oac_/), scope: 'events:read', token_endpoint_auth_method: 'none' })
  expect(body).not.toHaveProperty('client_secret')
  const error = async (more: object) => (await register(api.url, { client_name: 'A', redirect_uris: [REDIRECT], ...more })).body.error
  for (const uri of ['http://example.org/cb', 'javascript:alert(1)', 'https://example.org/#f', 'https://a:b@example.org/'])
    expect(await error({ redirect_uris: [uri] })).toBe('invalid_redirect_uri')
  expect(await error({ redirect_uris: [] })).toBe('invalid_redirect_uri')
  expect(await error({ client_name: '' })).toBe('invalid_client_metadata')
  expect(await error({ token_endpoint_auth_method: 'client_secret_basic' })).toBe('invalid_client_metadata')
  expect(await error({ grant_types: ['implicit'] })).toBe('invalid_client_metadata')
  expect(await error({ client_name: 'A\0' })).toBe('invalid_client_metadata')
  const over = await register(api.url)
  expect([over.status, Number(over.headers.get('retry-after')) > 0]).toEqual([429, true])
})

test('registration can be switched off', async () => {
  const closed = await startApi({ oauthRegistration: false })
  expect((await register(closed.url)).status).toBe(404)
  expect(await (await fetch(`${closed.url}/.well-known/oauth-authorization-server`)).json()).not.toHaveProperty('registration_endpoint')
  await closed.stop()
})
