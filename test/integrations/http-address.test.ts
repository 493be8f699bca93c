import { expect, test } from 'vitest'
import { validateConfig } from '../../domain/integrations/validate-config.ts'

const slack = { settings: [{ name: 'webhook_url', kind: 'url', isSecret: true }] } as unknown as Parameters<typeof validateConfig>[0]
const config = { settings: { webhook_url: 'http://127.0.0.1:9000' }, events: null, event_mapping: {} } as unknown as Parameters<
  typeof validateConfig
>[1]

test('an http address is refused with the setting that allows it, and taken where it is set', () => {
  expect(() => validateConfig(slack, config, false)).toThrow(/https:\/\/.*ALLOW_PRIVATE_NETWORK=true/)
  expect(() => validateConfig(slack, config, true)).not.toThrow()
})
