// The variables of single sign-on.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'

const ISSUER = {
  OIDC_ISSUER: 'https://id.example.org/realms/team/',
  OIDC_CLIENT_ID: 'perennial',
  PUBLIC_URL: 'https://perennial.example.org',
}

describe('single sign-on', () => {
  test('is off without an issuer', () => {
    expect(readConfig({}).openId).toBeUndefined()
  })

  test('takes the name of the host, and a public client, unless told otherwise', () => {
    expect(readConfig(ISSUER).openId).toEqual({
      issuer: 'https://id.example.org/realms/team/',
      clientId: 'perennial',
      clientSecret: undefined,
      clientAuth: 'basic',
      name: 'id.example.org',
      isRequired: false,
    })
  })

  test('reads its secret from a file', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'perennial-oidc-')), 'secret')
    writeFileSync(path, 'from the provider\n', { mode: 0o600 })
    const more = { OIDC_CLIENT_SECRET_FILE: path, OIDC_CLIENT_AUTH: 'post', OIDC_NAME: ' Example ID ', OIDC_REQUIRED: 'true' }
    expect(readConfig({ ...ISSUER, ...more }).openId).toMatchObject({
      clientSecret: 'from the provider',
      clientAuth: 'post',
      name: 'Example ID',
      isRequired: true,
    })
  })

  test('may be within the network of the installation, and without TLS on its own host where that is allowed', () => {
    const local = { ...ISSUER, OIDC_ISSUER: 'http://127.0.0.1:8081' }
    expect(readConfig({ ...ISSUER, OIDC_ISSUER: 'https://10.0.0.7' }).openId?.issuer).toBe('https://10.0.0.7')
    expect(readConfig({ ...local, ALLOW_PRIVATE_NETWORK: 'true' }).openId?.name).toBe('127.0.0.1:8081')
    expect(() => readConfig(local)).toThrow('OIDC_ISSUER must begin with https:// (http:// needs ALLOW_PRIVATE_NETWORK=true)')
  })

  test.each<[Record<string, string>, string]>([
    [{ OIDC_ISSUER: 'id.example.org' }, 'OIDC_ISSUER must be an address that begins with https://'],
    [{ OIDC_ISSUER: 'ftp://id.example.org' }, 'OIDC_ISSUER must be an address that begins with https://'],
    [{ OIDC_ISSUER: 'https://id.example.org/?a=1' }, 'OIDC_ISSUER must be an address without query, fragment and login'],
    [
      { OIDC_ISSUER: 'http://10.0.0.7', ALLOW_PRIVATE_NETWORK: 'true' },
      'OIDC_ISSUER must begin with https:// (http:// with localhost alone)',
    ],
    [{ OIDC_ISSUER: 'https://id.example.org/.well-known/openid-configuration' }, 'OIDC_ISSUER must be the address before /.well-known/'],
    [{ PUBLIC_URL: '' }, 'OIDC_ISSUER needs PUBLIC_URL'],
    [{ OIDC_CLIENT_ID: '' }, 'OIDC_ISSUER needs OIDC_CLIENT_ID'],
    [{ OIDC_ISSUER: '' }, 'OIDC_CLIENT_ID needs OIDC_ISSUER'],
    [{ OIDC_ISSUER: '', OIDC_CLIENT_ID: '', OIDC_REQUIRED: 'true' }, 'OIDC_REQUIRED needs OIDC_ISSUER'],
    [{ OIDC_REQUIRED: 'yes' }, 'OIDC_REQUIRED=yes: must be one of false, true'],
    [{ OIDC_CLIENT_AUTH: 'jwt' }, 'OIDC_CLIENT_AUTH=jwt: must be one of basic, post'],
    [{ OIDC_NAME: 'x'.repeat(41) }, 'OIDC_NAME must have at most 40 characters'],
  ])('refuses %j', (change, line) => {
    expect(() => readConfig({ ...ISSUER, ...change })).toThrow(line)
  })
})
