import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { diskStorage } from '../../store/files/disk.ts'
import { DISK_MARK, writeDiskMark } from '../../store/files/disk-mark.ts'
import { s3Storage } from '../../store/files/s3.ts'
import type { ByteRange, FileStorage } from '../../store/files/storage.ts'
import { startS3, type TestS3 } from '../harness/s3.ts'

let s3: TestS3
beforeAll(async () => {
  s3 = await startS3()
})
afterAll(() => s3.end())

const MARK = 'mark'
/** Every driver of the seam. */
const DRIVERS: [name: string, make: (folder: string) => FileStorage][] = [
  ['disk', folder => diskStorage(folder, MARK)],
  ['S3', folder => s3Storage({ ...s3.options, folder })],
]
const never = new AbortController().signal

async function* pieces(...contents: (string | Buffer)[]) {
  for (const content of contents) yield Buffer.from(content)
}

describe.each(DRIVERS)('%s', (_name, make) => {
  let folder: string
  let storage: FileStorage
  let file = ''
  let made = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perennial-seam-'))
    await writeDiskMark(folder, MARK, rename)
    storage = make(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const fresh = () => {
    file = `file-${++made}`
    return file
  }

  const write = (name: string, ...contents: (string | Buffer)[]) => storage.writePart(file, name, pieces(...contents), never)
  const read = async (parts: [string, number][], range?: ByteRange) => {
    const stream = await storage.read(
      file,
      parts.map(([name, bytes]) => ({ name, bytes })),
      range,
    )
    return (await stream.toArray()).map(String).join('')
  }
  const names = async () => [...(await storage.sizes(file)).keys()].sort()

  test('written parts are read back, in the requested order, and their sizes are known', async () => {
    fresh()
    expect(await write('1.1', 'hello ', 'wor', 'ld')).toEqual({ bytes: 11 })
    expect(await write('2.1', '!')).toEqual({ bytes: 1 })
    expect([...(await storage.sizes(file))].sort()).toEqual([
      ['1.1', 11],
      ['2.1', 1],
    ])
    expect(
      await read([
        ['2.1', 1],
        ['1.1', 11],
      ]),
    ).toBe('!hello world')
  })

  test('a part that is written again is replaced', async () => {
    fresh()
    await write('1.1', 'longer than the next')
    await write('1.1', 'short')
    expect(await read([['1.1', 5]])).toBe('short')
    expect([...(await storage.sizes(file))]).toEqual([['1.1', 5]])
  })

  test('a part can be empty', async () => {
    fresh()
    expect(await write('1.1')).toEqual({ bytes: 0 })
    await write('2.1', 'x')
    expect(
      await read([
        ['1.1', 0],
        ['2.1', 1],
      ]),
    ).toBe('x')
    expect(await read([['1.1', 0]])).toBe('')
  })

  test('a part of more than one upload is complete to the byte', async () => {
    fresh()
    const block = Buffer.alloc(1024 * 1024, 'abcdefghijklmnopqrstuvwxyz')
    const bytes = 20 * block.length + 7
    expect(await write('1.1', ...Array.from({ length: 20 }, () => block), '1234567')).toEqual({ bytes })
    expect(await read([['1.1', bytes]], { start: bytes - 9, end: bytes - 1 })).toMatch(/^..1234567$/)
    expect((await read([['1.1', bytes]])).length).toBe(bytes)
  })

  test.each([
    [0, 0, 'a'],
    [0, 9, 'abcdefghij'],
    [2, 2, 'c'],
    [2, 3, 'cd'],
    [3, 6, 'defg'],
    [9, 9, 'j'],
    [5, 100, 'fghij'],
  ])('a range from %i to %i crosses the edges of parts', async (start, end, expected) => {
    fresh()
    await write('1.1', 'abc')
    await write('2.1', 'd')
    await write('3.1', 'efghij')
    expect(
      await read(
        [
          ['1.1', 3],
          ['2.1', 1],
          ['3.1', 6],
        ],
        { start, end },
      ),
    ).toBe(expected)
  })

  test('a missing part: ENOENT before the first byte, a broken stream after it', async () => {
    fresh()
    await write('1.1', 'abc')
    await expect(read([['9.9', 3]])).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(
      read([
        ['1.1', 3],
        ['9.9', 3],
      ]),
    ).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('a missing file: ENOENT for its sizes, nothing to remove', async () => {
    fresh()
    await expect(storage.sizes(file)).rejects.toMatchObject({ code: 'ENOENT' })
    await storage.keepOnly(file, ['1.1'])
    await storage.prune(file, async names => names)
    await storage.remove(file)
  })

  test('an error of the source fails the write with the same error', async () => {
    fresh()
    async function* broken() {
      yield Buffer.alloc(1024)
      throw Object.assign(new Error('the statement was cancelled'), { code: '57014' })
    }
    await expect(storage.writePart(file, '1.1', broken(), never)).rejects.toMatchObject({ code: '57014' })
  })

  test('an aborted write rejects with the reason, even when it has not begun', async () => {
    fresh()
    const stop = new AbortController()
    async function* endless() {
      for (let i = 0; ; i++) {
        if (i === 30) stop.abort(new Error('enough'))
        yield Buffer.alloc(1024 * 1024)
      }
    }
    await expect(storage.writePart(file, '1.1', endless(), stop.signal)).rejects.toThrow('enough')
    await expect(storage.writePart(file, '2.1', pieces('x'), stop.signal)).rejects.toThrow('enough')
  })

  test('keepOnly, prune and remove delete only the named parts, and touch no other file', async () => {
    const other = fresh()
    await write('1.1', 'other')
    fresh()
    for (const name of ['1.1', '1.2', '2.1', '3.erase-1-1.1']) await write(name, name)
    await storage.keepOnly(file, ['1.2', '2.1', '3.erase-1-1.1'])
    expect(await names()).toEqual(['1.2', '2.1', '3.erase-1-1.1'])
    let seen: string[] = []
    await storage.prune(file, async present => {
      seen = present.sort()
      return ['2.1']
    })
    expect(seen).toEqual(['1.2', '2.1', '3.erase-1-1.1'])
    expect(await names()).toEqual(['1.2', '3.erase-1-1.1'])
    await storage.remove(file)
    await expect(storage.sizes(file)).rejects.toMatchObject({ code: 'ENOENT' })
    file = other
    expect(await names()).toEqual(['1.1'])
  })

  test('a part is built from others on the local disk, and nothing stays there', async () => {
    fresh()
    await write('1.1', 'ab')
    await write('2.1', 'cd')
    const { bytes } = await storage.composePart(file, 'whole.1', ['2.1', '1.1'], async ({ sources, target, spill }) => {
      const texts = await Promise.all(sources.map(source => readFile(source, 'utf8')))
      await writeFile(spill, 'needed meanwhile')
      await writeFile(target, texts.join('+'))
    })
    expect(bytes).toBe(5)
    expect(await read([['whole.1', 5]])).toBe('cd+ab')
    expect((await readdir(folder, { recursive: true })).filter(name => /(^|\/)\./.test(name))).toEqual([DISK_MARK])
  })

  test('a failed build leaves no part and nothing on the local disk', async () => {
    fresh()
    await write('1.1', 'ab')
    const failing = storage.composePart(file, 'whole.1', ['1.1'], async ({ target }) => {
      await writeFile(target, 'half')
      throw new Error('no memory')
    })
    await expect(failing).rejects.toThrow('no memory')
    expect(await names()).toEqual(['1.1'])
    expect((await readdir(folder, { recursive: true })).filter(name => /(^|\/)\./.test(name))).toEqual([DISK_MARK])
  })

  test.each(['', '.', '..', '../x', 'a/b', '.hidden', 'a..b', 'a b'])('%j is not a valid name of a file or part', async name => {
    await expect(storage.writePart(name, '1.1', pieces('x'), never)).rejects.toThrow(RangeError)
    await expect(storage.writePart('file-x', name, pieces('x'), never)).rejects.toThrow()
  })
})
