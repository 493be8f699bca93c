import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { diskStorage } from '../../../store/files/disk.ts'
import { writeDiskMark } from '../../../store/files/disk-mark.ts'
import { writeBehind } from '../../../store/files/write-behind.ts'

const MB = 1024 * 1024
const handle = (datasync: () => Promise<void>) => {
  const calls: string[] = []
  const called = (name: string, work: () => Promise<void>) => () => {
    calls.push(name)
    return work()
  }
  return { calls, datasync: called('datasync', datasync), sync: called('sync', async () => {}) }
}

test('what is written is synced meanwhile, one file at a time, and all of it at the end', async () => {
  const syncs = writeBehind()
  const first = Promise.withResolvers<void>()
  const [one, other] = [handle(() => first.promise), handle(async () => {})]
  const [ofOne, ofOther] = [syncs(one), syncs(other)]
  ofOne.written(7 * MB)
  expect(one.calls).toEqual([])
  ofOne.written(MB)
  ofOne.written(8 * MB)
  ofOther.written(9 * MB)
  expect([one.calls, other.calls]).toEqual([['datasync'], []])
  const isDone = ofOne.finish()
  first.resolve()
  await isDone
  ofOther.written(1)
  await ofOther.finish()
  expect([one.calls, other.calls]).toEqual([
    ['datasync', 'sync'],
    ['datasync', 'sync'],
  ])
})

test('an error of a sync is that of the file, though the last sync succeeds', async () => {
  const syncs = writeBehind()
  const failing = handle(() => Promise.reject(new Error('EIO')))
  const durable = syncs(failing)
  durable.written(8 * MB)
  await expect(durable.finish()).rejects.toThrow('EIO')
  const next = handle(async () => {})
  const after = syncs(next)
  after.written(8 * MB)
  await after.finish()
  expect(next.calls).toEqual(['datasync', 'sync'])
})

test('a part that is larger than what is synced at once is stored as it is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-behind-'))
  try {
    await writeDiskMark(folder, 'mark', rename)
    const chunks = Array.from({ length: 20 }, () => randomBytes(MB + 17))
    const storage = diskStorage(folder, 'mark')
    async function* content() {
      yield* chunks
    }
    const { bytes } = await storage.writePart('file', 'part', content(), new AbortController().signal)
    const stored = await readFile(join(folder, 'file', 'part'))
    expect([bytes, stored.equals(Buffer.concat(chunks))]).toEqual([20 * (MB + 17), true])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
