import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { sweep, temporaryName } from '../embedded/temporary.ts'
import { failureOf, type S3Options, s3Client } from './s3-client.ts'
import { abortUploads, deleteObjects, listObjects, listUnfinished, type Place } from './s3-list.ts'
import { readObject } from './s3-read.ts'
import { readSections } from './sections.ts'
import { type FileStorage, NAME } from './storage.ts'

/** Memory of an upload: those under way, one that fills up, and one being copied. */
const CHUNK_BYTES = 8 * 1024 * 1024
const CHUNKS_AT_ONCE = 2
const TEMPORARY = '.s3-'

/** `folder`: on the local disk, for programs that work on files. It must be there. */
export type S3StorageOptions = S3Options & { folder: string }

/** Uploads what comes; nothing has the key before everything is there. What fails is taken back, as far as the server can be reached. */
async function upload(client: S3Client, Bucket: string, Key: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal) {
  let bytes = 0
  let failure: { error: unknown } | undefined
  async function* counted() {
    const source = content[Symbol.asyncIterator]()
    try {
      for (;;) {
        const chunk = await source.next().catch(error => {
          failure = { error }
          throw error
        })
        if (chunk.done) return
        signal.throwIfAborted()
        bytes += chunk.value.length
        yield chunk.value
      }
    } finally {
      await source.return?.()
    }
  }
  const Body = Readable.from(counted(), { objectMode: false })
  // Whoever reads it hears of its failure; when the server failed first nobody reads it any more.
  Body.on('error', () => {})
  const abortController = new AbortController()
  const params = { Bucket, Key, Body }
  const uploading = new Upload({ client, params, abortController, partSize: CHUNK_BYTES, queueSize: CHUNKS_AT_ONCE })
  const abort = () => abortController.abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    await uploading.done()
    return { bytes }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw failure ? failure.error : failureOf(error)
  } finally {
    signal.removeEventListener('abort', abort)
    Body.destroy()
  }
}

/** Files in a bucket, each part an object of its own: prefix, file, slash, part. */
export function s3Storage({ folder, ...options }: S3StorageOptions): FileStorage & { close(): void } {
  const client = s3Client(options)
  const { bucket } = options
  const place = (file: string): Place => {
    if (!NAME.test(file)) throw new RangeError(`not a file name: ${file}`)
    return { client, bucket, prefix: `${options.prefix}${file}/` }
  }
  const keyOf = (file: string, name: string): string => {
    if (!NAME.test(name)) throw new RangeError(`not a file name: ${file}/${name}`)
    return place(file).prefix + name
  }
  const content = (file: string, name: string, start: number, end: number) =>
    readObject({ client, bucket, key: keyOf(file, name) }, start, end)

  const storage: FileStorage = {
    writePart: async (file, name, content, signal) => upload(client, bucket, keyOf(file, name), content, signal),

    async composePart(file, name, from, make) {
      await sweep(folder, TEMPORARY)
      const workplace = join(folder, temporaryName(TEMPORARY))
      await mkdir(workplace, { mode: 0o700 })
      try {
        const sizes = from.length > 0 ? await storage.sizes(file) : new Map<string, number>()
        const sources: string[] = []
        for (const part of from) {
          const source = join(workplace, part)
          await pipeline(content(file, part, 0, (sizes.get(part) ?? 1) - 1), createWriteStream(source, { mode: 0o600 }))
          sources.push(source)
        }
        const target = join(workplace, '.target')
        await make({ sources, target, spill: join(workplace, '.spill') })
        const { size } = await stat(target)
        const { bytes } = await storage.writePart(file, name, createReadStream(target), new AbortController().signal)
        if (bytes !== size) throw Object.assign(new Error(`${name} was cut short`), { code: 'EIO' })
        return { bytes }
      } finally {
        await rm(workplace, { recursive: true, force: true })
      }
    },

    read: async (file, parts, range) => readSections(parts, range, (name, start, end) => content(file, name, start, end)),

    async sizes(file) {
      const found = await listObjects(place(file))
      if (found.size === 0) throw Object.assign(new Error(`S3: there is nothing of ${file}`), { code: 'ENOENT' })
      return found
    },

    keepOnly: (file, names) => storage.prune(file, async present => present.filter(name => !names.includes(name))),

    async prune(file, garbage) {
      const [objects, unfinished] = await Promise.all([listObjects(place(file)), listUnfinished(place(file))])
      const names = new Set([...objects.keys(), ...unfinished.map(({ name }) => name)])
      if (names.size === 0) return
      const useless = new Set(await garbage([...names]))
      await abortUploads(
        place(file),
        unfinished.filter(({ name }) => useless.has(name)),
      )
      await deleteObjects(
        place(file),
        [...objects.keys()].filter(name => useless.has(name)),
      )
    },

    remove: file => storage.prune(file, async names => names),
  }
  return { ...storage, close: () => client.destroy() }
}
