import { expect, test } from 'vitest'
import { eventField, type RunOccurrence } from '../../../domain/automations/automation-runs/trigger.ts'

test('a condition names a field of the posted event, or one of its properties', () => {
  const event = {
    product_id: 'gold',
    country: 'DE',
    app_version: '2.1',
    transaction_id: 't1',
    platform: null,
    properties: { count: 3, 'device.mood': 'x' },
  }
  const occurrence = { event, user: null } as unknown as RunOccurrence
  const names = [
    'product_id',
    'device.country',
    'app.version',
    'transaction.transaction_id',
    'count',
    'device.mood',
    'platform',
    'properties',
    'none',
  ]
  expect(names.map(name => eventField(occurrence, name))).toEqual(['gold', 'DE', '2.1', 't1', '3', 'x', null, null, null])
})
