import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { classifyFailure } from '../../store/failures.ts'
import { s3Storage } from '../../store/files/s3.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { type Fault, type S3Request, startS3, type TestS3 } from '../harness/s3.ts'
import { until } from '../harness/until.ts'

const MEGABYTE = 1024 * 1024
const never = new AbortController().signal

let s3: TestS3
let storage: FileStorage
let folder: string
beforeEach(async () => {
  s3 = await startS3()
  folder = await mkdtemp(join(tmpdir(), 'perennial-s3-faults-'))
  storage = s3Storage({ ...s3.options, folder })
})
afterEach(async () => {
  await s3.end()
  await rm(folder, { recursive: true, force: true })
})

async function* megabytes(count: number, amid?: (n: number) => unknown) {
  for (let n = 0; n < count; n++) {
    await amid?.(n)
    yield Buffer.alloc(MEGABYTE, String(n % 10))
  }
}
const isChunk = ({ method, url }: S3Request) => method === 'PUT' && /partNumber=2&|partNumber=2$/.test(url)
/** Puts a fault on the first `times` requests of a kind, by default on each. */
function befall(fault: Fault, isMeant: (request: S3Request) => boolean, times = Number.POSITIVE_INFINITY): void {
  let left = times
  s3.befalls = request => (isMeant(request) && left-- > 0 ? fault : undefined)
}
const write = (count = 20) => storage.writePart('file', '1.1', megabytes(count), never)
const failure = (what: Promise<unknown>) =>
  what.then(
    () => expect.fail('it worked'),
    error => error,
  )
const noneLeft = () => until('no upload to be left', async () => ((await s3.unfinished()).length === 0 ? true : undefined))

test('an upload has a checksum, which the server verifies', async () => {
  await write()
  await storage.writePart('file', '2.1', megabytes(1), never)
  const uploads = s3.requests.filter(({ method }) => method === 'PUT')
  expect(uploads).toHaveLength(4)
  expect(uploads.filter(({ headers }) => headers['x-amz-checksum-crc32'] === undefined)).toEqual([])
})

test.each(['fails', 'is-cut'] as const)('an upload that %s once in the middle is retried, and the part is complete', async fault => {
  befall(fault, isChunk, 1)
  expect(await write()).toEqual({ bytes: 20 * MEGABYTE })
  let bytes = 0
  let sum = 0
  for await (const chunk of await storage.read('file', [{ name: '1.1', bytes: 20 * MEGABYTE }])) {
    bytes += chunk.length
    sum += chunk[0] - 48
  }
  expect([bytes, sum > 0, await s3.unfinished()]).toEqual([20 * MEGABYTE, true, []])
})

test.each([
  'fails',
  'is-cut',
] as const)('an upload that %s every time is aborted, and the error says that the storage does not work', async fault => {
  befall(fault, isChunk)
  expect(classifyFailure(await failure(write()))).toBe('unavailable')
  await noneLeft()
  await expect(storage.sizes('file')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a completion that fails leaves no part', async () => {
  befall('fails', ({ method, url }) => method === 'POST' && url.includes('uploadId='))
  expect(classifyFailure(await failure(write()))).toBe('unavailable')
  await noneLeft()
  await expect(storage.sizes('file')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('an error of the source in the middle leaves no part and no upload', async () => {
  const source = megabytes(20, n => {
    if (n === 15) throw Object.assign(new Error('cancelled'), { code: '57014' })
  })
  await expect(storage.writePart('file', '1.1', source, never)).rejects.toMatchObject({ code: '57014' })
  expect(s3.requests.some(({ url }) => url.includes('partNumber=1'))).toBe(true)
  await noneLeft()
  await expect(storage.sizes('file')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('an aborted upload leaves nothing on the server', async () => {
  const stop = new AbortController()
  const source = megabytes(40, n => {
    if (n === 20) stop.abort(new Error('the lease was lost'))
  })
  await expect(storage.writePart('file', '1.1', source, stop.signal)).rejects.toThrow('the lease was lost')
  await noneLeft()
  await expect(storage.sizes('file')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('an upload that a dead server interrupted is removed later with its file', async () => {
  const source = megabytes(30, async n => {
    if (n === 20) await s3.stop()
  })
  expect(classifyFailure(await failure(storage.writePart('file', '1.1', source, never)))).toBe('unavailable')
  await s3.start()
  expect(await s3.unfinished()).toEqual(['some/where/file/1.1'])
  await storage.writePart('file', '1.2', megabytes(1), never)
  await storage.writePart('other', '1.1', megabytes(1), never)
  let seen: string[] = []
  await storage.prune('file', async names => {
    seen = names.sort()
    return []
  })
  expect(seen).toEqual(['1.1', '1.2'])
  await storage.keepOnly('file', ['1.2'])
  expect([await s3.unfinished(), [...(await storage.sizes('file')).keys()]]).toEqual([[], ['1.2']])
})

test('a server that cannot list uploads still removes parts', async () => {
  await storage.writePart('file', '1.1', megabytes(1), never)
  befall('is-unknown', ({ method, url }) => method === 'GET' && /[?&]uploads/.test(url))
  await storage.remove('file')
  await expect(storage.sizes('file')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a failed removal throws', async () => {
  await storage.writePart('file', '1.1', megabytes(1), never)
  befall('fails', ({ method }) => method === 'DELETE')
  expect(classifyFailure(await failure(storage.remove('file')))).toBe('unavailable')
})

test('a read whose response breaks off continues at that byte', async () => {
  const part = { name: '1.1', bytes: 5 * MEGABYTE }
  await write(5)
  befall('breaks-off', ({ method }) => method === 'GET', 2)
  const read = Buffer.concat(await (await storage.read('file', [part])).toArray())
  expect(read.equals(Buffer.concat(await megabytesOf(5)))).toBe(true)
  expect(s3.requests.filter(({ method }) => method === 'GET')).toHaveLength(3)
})

test('a part that is shorter than its recorded size breaks the stream', async () => {
  await write(1)
  const stream = await storage.read('file', [{ name: '1.1', bytes: MEGABYTE + 5 }])
  expect(classifyFailure(await failure(stream.toArray()))).toBe('unavailable')
})

test('parts on several pages of a list are all listed and removed', async () => {
  const names = Array.from({ length: 103 }, (_, i) => `${i}.1`)
  await Promise.all(names.map(name => storage.writePart('many', name, megabytes(0), never)))
  expect((await storage.sizes('many')).size).toBe(103)
  await storage.remove('many')
  await expect(storage.sizes('many')).rejects.toMatchObject({ code: 'ENOENT' })
})

async function megabytesOf(count: number): Promise<Buffer[]> {
  const all: Buffer[] = []
  for await (const chunk of megabytes(count)) all.push(chunk)
  return all
}
