import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { itemFields } from '../../cli/import/fields.ts'
import { toItem } from '../../cli/import/item.ts'
import { readMap, refuseOtherColumns } from '../../cli/import/map.ts'
import { temporaryFolder } from './call.ts'

const fields = await itemFields()
const REQUIRED = ['event_id=e-{#}', 'event_name=opened', 'happened_at={at}']
const header = ['at', 'a', 'b']

const made = async (maps: string[], values: string[], row = 1) => {
  const item = toItem(await readMap([...REQUIRED, ...maps], fields), header)(values, row)
  if (item.is === 'fault') return item
  const { event_id: _, event_name: __, happened_at: ___, ...rest } = JSON.parse(item.json)
  return rest
}
const mapFile = async (content: unknown) => {
  const path = join(await temporaryFolder(), 'map.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

test('columns, the row number, braces and text make the value', async () => {
  const map = await readMap(REQUIRED, fields)
  expect(JSON.parse((toItem(map, header)(['2026-01-01T00:00:00Z', '', ''], 7) as { json: string }).json)).toEqual({
    event_id: 'e-7',
    event_name: 'opened',
    happened_at: '2026-01-01T00:00:00Z',
  })
  expect(await made(['screen_id={{{a}}}-{b}'], ['', 'x', 'y'])).toEqual({ screen_id: '{x}-y' })
})

test('dots build objects; a property keeps the dots of its own name', async () => {
  const maps = ['device.model={a}', 'device.id={b}', 'transaction.transaction_id={a}', 'properties.q.r={b}', 'properties.__proto__={a}']
  expect(JSON.stringify(await made(maps, ['', '1', '2']))).toBe(
    '{"device":{"model":"1","id":"2"},"transaction":{"transaction_id":"1"},"properties":{"q.r":"2","__proto__":"1"}}',
  )
})

test('a field of empty columns only is left out, and an object of none too', async () => {
  expect(await made(['product_id={a}{b}', 'device.model={a}', 'screen_id=s-{a}'], ['', '', ''])).toEqual({ screen_id: 's-' })
})

test('properties stay strings unless the map gives a type; constants are as they stand', async () => {
  const path = await mapFile({
    'properties.text': '{a}',
    'properties.count': { template: '{a}', type: 'number' },
    'properties.gift': { template: '{b}', type: 'boolean' },
    'properties.source': 3,
    'properties.past': false,
  })
  expect(await made([path], ['', '07', 'TRUE'])).toEqual({ properties: { text: '07', count: 7, gift: true, source: 3, past: false } })
  expect(await made([path], ['', '', ''])).toEqual({ properties: { source: 3, past: false } })
  expect(await made([path], ['', '1,5', '1'])).toEqual({ is: 'fault', field: 'properties.count', reason: '"1,5" is not a number' })
  expect(await made([path], ['', '1e999', '1'])).toMatchObject({ reason: '"1e999" is not a number' })
  expect(await made([path], ['', '1', 'si'])).toMatchObject({ field: 'properties.gift', reason: '"si" is not a boolean' })
})

test('the last word on a field counts', async () => {
  const path = await mapFile({ product_id: '{a}' })
  expect(await made([path, 'product_id=fixed=1'], ['', 'x', ''])).toEqual({ product_id: 'fixed=1' })
})

test('a row of another length, and one that is no UTF-8, is reported', async () => {
  expect(await made(['product_id={a}'], ['', 'x'])).toEqual({ is: 'fault', field: '', reason: 'has 2 values, the header has 3' })
  expect(await made(['product_id={a}'], ['', 'x\uFFFD', ''])).toEqual({ is: 'fault', field: 'product_id', reason: 'is not UTF-8' })
})

test.each([
  [['devise.model={a}'], /there is no field "devise\.model": an event has event_id, .*device\.model.*properties\.…$/],
  [['device={a}'], /there is no field "device"/],
  [['properties={a}'], /there is no field "properties"/],
  [['product_id='], /template of product_id is empty/],
  [['product_id={a'], /has an unmatched \{/],
  [['product_id={}'], /without a column/],
  [['event_id=fixed'], /event_id is the same for every row/],
])('%j is refused', async (maps, says) => {
  await expect(readMap([...REQUIRED, ...maps], fields)).rejects.toThrow(says)
})

test.each([
  [{ price: 1 }, /price is a string: put 1 in quotes/],
  [{ price: { template: '{a}', type: 'number' } }, /only properties can be of type number/],
  [{ 'properties.a': { template: '{a}', type: 'date' } }, /must be string, number, boolean/],
  [{ 'properties.a': { template: '{a}', typ: 'number' } }, /unknown key "typ"/],
  [{ 'properties.a': null }, /must be a template/],
  [['{a}'], /must be an object/],
  ['{"a":', /is not JSON/],
])('the map file %j is refused', async (content, says) => {
  await expect(readMap([...REQUIRED, await mapFile(content)], fields)).rejects.toThrow(says)
})

test('what every event needs must be in the map, and its columns in the file', async () => {
  await expect(readMap(['event_name=x'], fields)).rejects.toThrow('the map lacks event_id, happened_at')
  await expect(readMap(['/nonexistent/map.json'], fields)).rejects.toThrow('cannot be read')
  const map = await readMap(REQUIRED, fields)
  expect(() => refuseOtherColumns(map, ['a', 'b'], 'f.csv')).toThrow('happened_at uses the column "at", but f.csv has "a", "b"')
  expect(() => refuseOtherColumns(map, ['at', 'at'], 'f.csv')).toThrow('which f.csv has 2 times')
})
